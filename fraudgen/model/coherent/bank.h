// The bank's view of a payment: derived features, risk score, decision and booking. Immutable and
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/draws.h"
#include "fraudgen/model/coherent/row.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen::coherent {

class Bank {
 public:
  explicit Bank(const World& world) : world_(&world) {}

  // Fills the columns that derive from the customer's earlier rows.
  void DeriveFeatures(const CustomerState& customer, Row& row) const;
  // Lowers the amount to the customer's limits, for most honest payments.
  void CapAtLimits(const CustomerState& customer, Draws& draws, Row& row) const;
  // Sets score, alert and status. `certain`: the payment must be approved.
  void Decide(const CustomerState& customer, bool certain, Draws& draws, Row& row) const;
  // Updates the balance.
  void Book(CustomerState& customer, Row& row) const;

 private:
  int64_t MaxPixAmount(const CustomerState& customer, const Row& row) const;
  int64_t Score(const CustomerState& customer, Draws& draws, Row& row) const;
  void DecideStatus(const CustomerState& customer, Draws& draws, Row& row) const;
  bool IsUntrusted(const CustomerState& customer, const Row& row) const;

  const World* world_;
};

// The outcome of a payment after it was made: settlement, return, reversal or dispute. Pure
// functions of the payment.

// A row of `settlements`.
struct SettlementRow {
  uint64_t row = 0;  // of the payment
  uint64_t customer = 0;
  int64_t time = 0;
  int64_t amount = 0;
  int64_t returned = 0;
  SettlementOutcome outcome = SettlementOutcome::kSettled;
  SettlementReason reason = SettlementReason::kReceiverNotFound;  // unless it settled
};
// Returns the settlement of a payment whose status and report are decided, or nothing if it was
// final at once. `receiver_in_block`: the receiver is a customer of the same block, so the account
// exists and returns nothing.
std::optional<SettlementRow> SettlementOf(const Outcomes& outcomes, const Row& row,
                                          bool receiver_in_block, Draws& draws);

// Returns what comes back to the payer's account, and what a pending payment brings the receiver.
Movement ReturnOf(const SettlementRow& settlement);
Movement ArrivalOf(const SettlementRow& settlement);

// Returns whether the payment has a row in `disputes`.
bool IsDisputed(const Row& row);
struct Decision {
  int64_t decided_at = 0;
  int64_t refunded = 0;
};
// Returns the decision on a disputed payment.
Decision DecisionOf(const World& world, const Row& row);
// Returns what comes back to the payer's account.
Movement RefundOf(const Row& row, const Decision& decision);

}  // namespace reveza::fraudgen::coherent
