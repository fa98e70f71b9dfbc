// What becomes of a payment later: it settles, comes back, or is claimed back. Functions of the
// payment, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "datagen/coherent/draws.h"
#include "datagen/coherent/row.h"
#include "datagen/schema_coherent.h"

namespace reveza::datagen::coherent {

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
// Of a payment that is decided and of which it is known whether it is reported: nothing if it was
// final at once and stays so. `inside`: the receiver is a customer of the same block, who is there
// and gives nothing back.
std::optional<SettlementRow> SettlementOf(const Outcomes& outcomes, const Row& row, bool inside,
                                          Draws& draws);

// Whether the payment becomes a row of `disputes`.
bool IsDisputed(const Row& row);
struct Decision {
  int64_t decided_at = 0;
  int64_t refunded = 0;
};
// Of a disputed one.
Decision DecisionOf(const World& world, const Row& row);

}  // namespace reveza::datagen::coherent
