// What the timeline checks of the tables of a block share. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fraudgen/values/random.h"
#include "tests/fraudgen/rules/table_check.h"

namespace reveza::fraudgen::rules {

struct TimelineState {
  struct Amount {
    int64_t time;
    int64_t amount;
  };
  // A row of `entries`.
  struct Entry {
    int64_t time;
    int64_t amount;
    int64_t balance;
    Position position;
    std::size_t row;
  };
  struct Account {
    int64_t opened_at = 0;
    int64_t night_limit = 0;
    bool has_row = false;
    bool has_place = false;
    int64_t last_time = 0;
    int64_t latitude = 0;  // of the last row with a location
    int64_t longitude = 0;
    int64_t balance = 0;  // after the last row or entry
    int64_t night = 0;    // the last night with a PIX, and its sum
    int64_t night_amount = 0;
    int64_t recent_amount = 0;
    uint32_t rows = 0;
    std::array<uint32_t, 24> hours{};
    std::deque<Amount> recent;  // rows of the last 24 hours
    std::deque<Entry> entries;  // after the last row
  };

  std::unordered_map<uint64_t, Account> accounts;    // by customer
  std::unordered_map<uint64_t, uint64_t> owners;     // customer, by account
  std::unordered_map<uint64_t, int64_t> first_uses;  // by device and customer
  std::unordered_map<uint64_t, int64_t> removals;    // by device and customer
  std::unordered_map<uint64_t, int64_t> closings;    // by customer
  std::unordered_map<uint64_t, uint64_t> values;     // hash of the value, by customer and change
};

inline uint64_t PairOf(uint64_t one, uint64_t other) { return Mix(Mix(one) + other); }

// Returns the value of hexadecimal digits.
uint64_t HexadecimalOf(std::string_view text);

// Verifies that the rows of a table (alerts, disputes, rings) match the payments or rides that they
// refer to, block by block.
class ReferenceCheck {
 public:
  // The columns of the referring table. `number` may be empty.
  struct Columns {
    std::string_view id;
    std::string_view customer;
    std::string_view time;
    std::string_view number;
  };

  // `name` of the tally; `target` is the table referred to, `prefix` and `digits` its
  // identifiers.
  ReferenceCheck(const Columns& columns, std::string name, std::string_view target = "transactions",
                 std::string_view prefix = "TXN_", int digits = 15);

  // Adds rows of the referring table, before the rows of the target.
  void Add(const Batch& batch);
  // Compares a row of the target with the reference to it, if there is one.
  void Match(const Position& position, std::size_t row, uint64_t id, uint64_t customer,
             int64_t time, int64_t number);
  // Reports references without target.
  void EndBlock();
  const Tally& tally() const { return tally_; }

 private:
  struct Reference {
    uint64_t customer = 0;
    int64_t time = 0;
    int64_t number = 0;
    bool found = false;
  };
  std::string NameOf(uint64_t id) const;

  Columns columns_;
  std::string_view target_;
  std::string_view prefix_;
  int digits_;
  std::unordered_map<uint64_t, Reference> references_;
  Tally tally_;
};

// Verifies that there is one settlement for each pending or reversed payment, with matching values.
class SettlementCheck {
 public:
  struct Settlement {
    uint64_t customer = 0;
    int64_t time = 0;
    int64_t amount = 0;
    bool reversed = false;
    bool found = false;
  };

  void Add(const Batch& batch);
  // Compares a row of transactions with its settlement, if there is one.
  template <typename Payment>
  void Match(const Payment& payment) {
    const auto found = settlements_.find(payment.id);
    Settlement* settlement = found == settlements_.end() ? nullptr : &found->second;
    if (settlement == nullptr && !payment.pending) return;
    const bool right_kind =
        settlement != nullptr &&
        (payment.pending ? !settlement->reversed : settlement->reversed && payment.approved);
    match_.Check(right_kind && settlement->customer == payment.customer &&
                     settlement->amount == payment.amount && settlement->time > payment.time,
                 payment.position, payment.row,
                 [&] { return fmt::format("TXN_{:015}", payment.id); });
    if (settlement != nullptr) settlement->found = true;
  }
  void EndBlock();
  const Tally& tally() const { return match_; }

 private:
  std::unordered_map<uint64_t, Settlement> settlements_;  // by transaction
  Tally match_{"settlements: match the payments of their block, one per pending payment"};
};

// What is compared with each payment.
struct PaymentReferences {
  SettlementCheck settlements;
  ReferenceCheck alerts{{"transaction_id", "customer_id", "alerted_at", "risk_score"},
                        "alerts: match a payment of their block"};
  ReferenceCheck disputes{{"transaction_id", "customer_id", "opened_at", "claimed_amount"},
                          "disputes: match a payment of their block"};
  ReferenceCheck rings{{"transaction_id", "customer_id", "at", ""},
                       "rings: match a payment of their block"};
};

// transactions: a customer's payments in order of time, with the columns derived from earlier rows
// recomputed. All other tables of a block must come before. The arguments must outlive the check.
std::unique_ptr<TableCheck> CheckPayments(TimelineState& state, PaymentReferences& references);

// drivers, ride_alerts, rides: a driver's rides in order, pairs of passenger and driver, the
// weather of a city. `state` must outlive the check.
std::unique_ptr<TableCheck> CheckRides(const TimelineState& state);

}  // namespace reveza::fraudgen::rules
