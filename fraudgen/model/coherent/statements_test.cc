// The entries and payments of each account add up, and both ends of a payment agree.
#include "fraudgen/model/coherent/statements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace statements_test {

// Accounts that open and close, and payments that are pending, returned, reversed and disputed.
Parameters Busy(uint64_t seed, uint32_t difficulty) {
  Parameters parameters = Small();
  parameters.seed = seed;
  parameters.difficulty = difficulty;
  parameters.changes.closed_thousandths = 900;
  parameters.population.joining = 500'000;
  parameters.population.contacts_inside = 800'000;
  parameters.outcomes.pending = 400'000;
  parameters.outcomes.returned = 200'000;
  parameters.outcomes.card_reversed = 50'000;
  parameters.outcomes.person_pix_reversed = 50'000;
  parameters.outcomes.med_refunded_percent = 50;
  return parameters;
}

Collector& BusyRows() {
  static Collector collector = Everything(*ModelOf(Busy(1, kHard)));
  return collector;
}

std::string_view NameOf(int64_t kind) {
  return kind < 0 ? "none" : kEntryKindNames.at(static_cast<std::size_t>(kind));
}
EntryKind KindOf(const Collected& entries, std::size_t row) {
  return static_cast<EntryKind>(entries.Number("kind", row));
}
bool IsReceipt(EntryKind kind) {
  return kind == EntryKind::kPixReceived || kind == EntryKind::kTedReceived;
}
PaymentStatus StatusOf(const Collected& rows, std::size_t row) {
  return static_cast<PaymentStatus>(rows.Number("status", row));
}
// Returns what a payment of its owner adds to the balance.
int64_t EffectOf(const Collected& rows, std::size_t row) {
  const PaymentStatus status = StatusOf(rows, row);
  const bool paid = status == PaymentStatus::kApproved || status == PaymentStatus::kPending;
  const bool credit = static_cast<Kind>(rows.Number("type", row)) == Kind::kCreditCard;
  return paid && !credit ? -rows.Number("amount", row) : 0;
}

struct Movement {
  int64_t time = 0;
  int64_t amount = 0;
  int64_t balance = 0;
  bool payment = false;
  std::size_t row = 0;
};

// Returns the entries and payments of each customer in order of time.
std::map<std::string, std::vector<Movement>> StatementsOf(Collector& all) {
  std::map<std::string, std::vector<Movement>> statements;
  const Collected& entries = all[kEntries];
  for (std::size_t row = 0; row < entries.rows; ++row) {
    statements[entries.Text("customer_id", row)].push_back(
        {entries.Number("posted_at", row), entries.Number("amount", row),
         entries.Number("balance_after", row), false, row});
  }
  const Collected& rows = all[kTransactions];
  for (std::size_t row = 0; row < rows.rows; ++row) {
    statements[rows.Text("customer_id", row)].push_back(
        {rows.Number("timestamp", row), EffectOf(rows, row), rows.Number("balance_after", row),
         true, row});
  }
  for (auto& [customer, movements] : statements) {
    std::ranges::stable_sort(movements, {}, &Movement::time);
  }
  return statements;
}

void ExpectBalanced(Collector& all) {
  std::size_t payments = 0;
  for (const auto& [customer, movements] : StatementsOf(all)) {
    ASSERT_FALSE(movements.front().payment) << customer << ": no opening balance";
    ASSERT_EQ(KindOf(all[kEntries], movements.front().row), EntryKind::kOpeningBalance);
    int64_t balance = 0;
    for (const Movement& movement : movements) {
      balance += movement.amount;
      ASSERT_EQ(movement.balance, balance)
          << customer << (movement.payment ? " payment " : " entry ") << movement.row;
      ASSERT_GE(balance, 0) << customer;
      payments += movement.payment ? 1 : 0;
    }
  }
  EXPECT_EQ(payments, all[kTransactions].rows);
}

TEST(Statements, EachBalanceIsThePreviousOnePlusTheMovement) {
  for (const uint64_t seed : {1, 2, 3}) {
    for (const uint32_t difficulty : {kEasy, kMedium, kHard}) {
      Collector all = Everything(*ModelOf(Busy(seed, difficulty)));
      ExpectBalanced(all);
    }
  }
  ExpectBalanced(SmallRows());
}

TEST(Statements, EachKindOccurs) {
  const Collected& entries = BusyRows()[kEntries];
  std::array<int, kEntryKindNames.size()> counts{};
  for (std::size_t row = 0; row < entries.rows; ++row) {
    ++counts[static_cast<std::size_t>(entries.Number("kind", row))];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_GT(counts[i], 20) << kEntryKindNames[i];
}

TEST(Statements, AreInOrderOfTimeUntilTheLastDay) {
  const Parameters parameters = Busy(1, kHard);
  const auto model = ModelOf(parameters);
  for (uint64_t block = 0; block < model->blocks(); ++block) {
    Collector all;
    ASSERT_TRUE(model->Make(block, model->tables(), all));
    const Collected& entries = all[kEntries];
    std::set<std::pair<std::string, int64_t>> times;
    for (std::size_t row = 0; row < entries.rows; ++row) {
      const int64_t time = entries.Number("posted_at", row);
      ASSERT_TRUE(row == 0 || entries.Number("posted_at", row - 1) <= time);
      ASSERT_TRUE(times.emplace(entries.Text("account_id", row), time).second);
      ASSERT_LT(time, (parameters.last_day + 1) * kDay);
      ASSERT_NE(entries.Number("amount", row), 0);
    }
  }
}

// The accounts of payer and receiver, and the amount: what both ends of a payment know.
using Key = std::tuple<std::string, std::string, int64_t>;
using Times = std::map<Key, std::vector<int64_t>>;

// Returns when customers paid each other; pending payments, when they settled.
Times PaidTimes(Collector& all) {
  std::map<std::string, std::string> account_of;
  std::set<std::string> accounts;
  for (std::size_t row = 0; row < all[kAccounts].rows; ++row) {
    const std::string& account = all[kAccounts].Text("account_id", row);
    account_of[all[kAccounts].Text("customer_id", row)] = account;
    accounts.insert(account);
  }
  std::map<std::string, int64_t> settled;
  for (std::size_t row = 0; row < all[kSettlements].rows; ++row) {
    settled[all[kSettlements].Text("transaction_id", row)] =
        all[kSettlements].Number("settled_at", row);
  }
  Times times;
  const Collected& rows = all[kTransactions];
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const std::string& receiver = rows.Text("counterparty_account", row);
    const PaymentStatus status = StatusOf(rows, row);
    const bool pending = status == PaymentStatus::kPending;
    if (!accounts.contains(receiver) || (!pending && status != PaymentStatus::kApproved)) continue;
    times[{account_of.at(rows.Text("customer_id", row)), receiver, rows.Number("amount", row)}]
        .push_back(pending ? settled.at(rows.Text("transaction_id", row))
                           : rows.Number("timestamp", row));
  }
  return times;
}

Times ReceivedTimes(Collector& all) {
  Times times;
  const Collected& entries = all[kEntries];
  for (std::size_t row = 0; row < entries.rows; ++row) {
    const bool received = IsReceipt(KindOf(entries, row));
    EXPECT_EQ(entries.Has("counterparty_account", row), received);
    EXPECT_EQ(entries.Has("counterparty_bank", row), received);
    if (!received) continue;
    times[{entries.Text("counterparty_account", row), entries.Text("account_id", row),
           entries.Number("amount", row)}]
        .push_back(entries.Number("posted_at", row));
  }
  return times;
}

// Honest and fraudulent, in the same block and from another; a few are posted later.
TEST(Statements, EachPaymentToACustomerIsOneEntryOfTheReceiver) {
  for (const uint64_t seed : {1, 2}) {
    const Parameters parameters = Busy(seed, kHard);
    Collector all = Everything(*ModelOf(parameters));
    const int64_t end = (parameters.last_day + 1) * kDay;
    Times received = ReceivedTimes(all);
    std::size_t at_once = 0;
    std::size_t later = 0;
    for (auto& [key, paid] : PaidTimes(all)) {
      std::vector<int64_t>& posted = received[key];
      std::ranges::sort(paid);
      std::ranges::sort(posted);
      ASSERT_LE(posted.size(), paid.size());
      for (std::size_t i = 0; i < paid.size(); ++i) {
        if (i >= posted.size()) {
          EXPECT_GE(paid[i], end - 4 * kDay) << "never received";
          continue;
        }
        EXPECT_GE(posted[i], paid[i]);
        EXPECT_LE(posted[i], paid[i] + 4 * kDay);
        ++(posted[i] == paid[i] ? at_once : later);
      }
      received.erase(key);
    }
    EXPECT_TRUE(received.empty()) << "received what nobody paid";
    EXPECT_GT(at_once, 1'000u);
    EXPECT_GT(later, 50u);
  }
}

// Every hop of a chain finds its money in the account of the mule.
TEST(Statements, MulesReceiveWhatTheyForward) {
  Collector& all = BusyRows();
  const Collected& rings = all[kRings];
  const Collected& entries = all[kEntries];
  std::map<std::string, int64_t> received;  // by customer
  for (std::size_t row = 0; row < entries.rows; ++row) {
    if (IsReceipt(KindOf(entries, row))) {
      received[entries.Text("customer_id", row)] += entries.Number("amount", row);
    }
  }
  std::map<std::string, std::size_t> row_of;
  const Collected& rows = all[kTransactions];
  for (std::size_t row = 0; row < rows.rows; ++row) row_of[rows.Text("transaction_id", row)] = row;
  std::map<std::string, int64_t> forwarded;
  for (std::size_t row = 0; row < rings.rows; ++row) {
    const auto pattern = static_cast<RingPattern>(rings.Number("pattern", row));
    if (pattern == RingPattern::kSharedDevice || rings.Number("hop", row) == 0) continue;
    forwarded[rings.Text("customer_id", row)] +=
        rows.Number("amount", row_of.at(rings.Text("transaction_id", row)));
  }
  EXPECT_GT(forwarded.size(), 15u);
  for (const auto& [customer, amount] : forwarded) EXPECT_GE(received[customer], amount);
}

// The money of a chain arrives between what the mule pays otherwise and the hop: moved to savings
// and back, as most of it would be, it would name the mules.
TEST(Statements, HopsSeldomDrawOnSavings) {
  std::size_t hops = 0;
  std::size_t drawing = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    Collector all = Everything(*ModelOf(Busy(seed, kHard)));
    const Collected& rows = all[kTransactions];
    for (const auto& [customer, movements] : StatementsOf(all)) {
      for (std::size_t i = 1; i < movements.size(); ++i) {
        if (!movements[i].payment) continue;
        const int64_t role = rows.Number("fraud_role", movements[i].row);
        if (role != static_cast<int64_t>(FraudRole::kMuleHop) &&
            role != static_cast<int64_t>(FraudRole::kCashOut)) {
          continue;
        }
        const Movement& before = movements[i - 1];
        ++hops;
        drawing +=
            !before.payment && KindOf(all[kEntries], before.row) == EntryKind::kSavingsWithdrawal;
      }
    }
  }
  EXPECT_GT(hops, 200u);
  EXPECT_LT(drawing * 25, hops);
}

TEST(Statements, WhatComesBackIsThatOfSettlementsAndDisputes) {
  Collector& all = BusyRows();
  const Parameters parameters = Busy(1, kHard);
  const int64_t end = (parameters.last_day + 1) * kDay;
  const Collected& rows = all[kTransactions];
  std::set<std::string> by_credit_card;
  std::map<std::string, std::string> payer_of;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const std::string& id = rows.Text("transaction_id", row);
    payer_of[id] = rows.Text("customer_id", row);
    if (static_cast<Kind>(rows.Number("type", row)) == Kind::kCreditCard) by_credit_card.insert(id);
  }
  using Return = std::tuple<std::string, EntryKind, int64_t, int64_t>;
  std::set<Return> expected;
  const Collected& settlements = all[kSettlements];
  for (std::size_t row = 0; row < settlements.rows; ++row) {
    const int64_t returned = settlements.Number("returned_amount", row);
    const auto outcome = static_cast<SettlementOutcome>(settlements.Number("outcome", row));
    if (returned == 0) continue;
    expected.emplace(settlements.Text("transaction_id", row),
                     outcome == SettlementOutcome::kReturned ? EntryKind::kPaymentReturned
                                                             : EntryKind::kPaymentReversed,
                     settlements.Number("settled_at", row), returned);
  }
  const Collected& disputes = all[kDisputes];
  for (std::size_t row = 0; row < disputes.rows; ++row) {
    const int64_t refunded = disputes.Number("refunded_amount", row);
    if (refunded == 0) continue;
    expected.emplace(disputes.Text("transaction_id", row), EntryKind::kDisputeRefund,
                     disputes.Number("decided_at", row), refunded);
  }
  std::erase_if(expected, [&](const Return& each) {
    return by_credit_card.contains(std::get<0>(each)) || std::get<2>(each) >= end;
  });
  std::set<Return> found;
  const Collected& entries = all[kEntries];
  for (std::size_t row = 0; row < entries.rows; ++row) {
    if (!entries.Has("transaction_id", row)) continue;
    const std::string& id = entries.Text("transaction_id", row);
    EXPECT_EQ(payer_of.at(id), entries.Text("customer_id", row));
    found.emplace(id, KindOf(entries, row), entries.Number("posted_at", row),
                  entries.Number("amount", row));
  }
  EXPECT_GT(found.size(), 300u);
  EXPECT_EQ(found, expected);
}

TEST(Statements, ClosedAccountsAreEmptiedAndReceiveOnlyWhatWasUnderWay) {
  Collector& all = BusyRows();
  const Collected& entries = all[kEntries];
  std::set<std::string> closed;
  for (std::size_t row = 0; row < entries.rows; ++row) {
    const std::string& customer = entries.Text("customer_id", row);
    const EntryKind kind = KindOf(entries, row);
    if (kind == EntryKind::kAccountClosed) {
      EXPECT_EQ(entries.Number("balance_after", row), 0);
      EXPECT_TRUE(closed.insert(customer).second);
    } else if (closed.contains(customer)) {
      EXPECT_TRUE(entries.Has("transaction_id", row) || IsReceipt(kind))
          << NameOf(entries.Number("kind", row));
    }
  }
  const Collected& changes = all[kChanges];
  std::size_t closings = 0;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    const auto change = static_cast<ChangeKind>(changes.Number("change", row));
    closings += change == ChangeKind::kAccountClosed ? 1 : 0;
  }
  EXPECT_EQ(closed.size(), closings);
}

// The owner's next payment after each kind of entry, and what came before it, tell nobody for sure:
// neither the victims of chains, who draw on savings, nor the mules, whose money may wait in them.
TEST(Statements, NoKindOfEntryIsOnlyThatOfFrauds) {
  Collector& all = SmallRows();
  const Collected& rows = all[kTransactions];
  const Collected& entries = all[kEntries];
  std::map<std::pair<int64_t, int64_t>, std::pair<int, int>> counts;  // of all, of frauds
  for (const auto& [customer, movements] : StatementsOf(all)) {
    int64_t kind = -1;
    int64_t before = -1;
    for (const Movement& movement : movements) {
      if (!movement.payment) {
        before = std::exchange(kind, entries.Number("kind", movement.row));
        continue;
      }
      for (const int64_t last : {before, int64_t{-1}}) {
        auto& [payments, frauds] = counts[{last, kind}];
        ++payments;
        frauds += rows.Number("is_fraud", movement.row) != 0 ? 1 : 0;
      }
      kind = before = -1;
    }
  }
  for (const auto& [kinds, count] : counts) {
    if (count.first < 50) continue;
    EXPECT_LT(count.second * 10, count.first * 9)
        << NameOf(kinds.first) << " then " << NameOf(kinds.second);
  }
}

}  // namespace statements_test
}  // namespace reveza::fraudgen::coherent
