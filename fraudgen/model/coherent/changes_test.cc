// The changes table agrees with the rows: rows before a change show the old value, rows after it
// the new one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace changes_test {

// High rates of changes and closed accounts.
Parameters Restless() {
  Parameters parameters = Small();
  parameters.changes = {.address = 900'000,
                        .email = 900'000,
                        .income = 900'000,
                        .credit_limit = 900'000,
                        .pix_key = 700'000,
                        .closed_thousandths = 900};
  parameters.lookalikes.new_number_a_month = 70'000;
  parameters.population.joining = 500'000;
  parameters.population.contacts_inside = 800'000;
  return parameters;
}

Collector& RestlessRows() {
  static Collector collector = Everything(*ModelOf(Restless()));
  return collector;
}

ChangeKind KindOf(const Collected& changes, std::size_t row) {
  return static_cast<ChangeKind>(changes.Number("change", row));
}

TEST(Changes, EveryKindOccurs) {
  const Collected& changes = RestlessRows()[kChanges];
  std::array<int, kChangeKindNames.size()> counts{};
  for (std::size_t row = 0; row < changes.rows; ++row) {
    ++counts[static_cast<std::size_t>(KindOf(changes, row))];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_GT(counts[i], 5) << kChangeKindNames[i];
}

// Starting with the values of the other tables.
TEST(Changes, OldValueIsThePreviousNewValue) {
  Collector& all = RestlessRows();
  const Collected& customers = all[kCustomers];
  const Collected& accounts = all[kAccounts];
  std::map<std::pair<std::string, ChangeKind>, std::string> values;
  const auto money = [](int64_t cents) {
    std::string text = std::to_string(cents / 100) + ".";
    if (cents % 100 < 10) text += "0";
    return text + std::to_string(cents % 100);
  };
  for (std::size_t row = 0; row < customers.rows; ++row) {
    const std::string& customer = customers.Text("customer_id", row);
    values[{customer, ChangeKind::kPhoneChanged}] = customers.Text("phone", row);
    values[{customer, ChangeKind::kEmailChanged}] = customers.Text("email", row);
    values[{customer, ChangeKind::kIncomeChanged}] = money(customers.Number("monthly_income", row));
    values[{customer, ChangeKind::kLimitChanged}] = money(accounts.Number("credit_limit", row));
    values[{customer, ChangeKind::kAddressChanged}] =
        customers.Text("address.street", row) + " - " +
        customers.Text("address.neighborhood", row) + " - " +
        customers.Text("address.postal_code", row);
    ASSERT_EQ(accounts.Text("customer_id", row), customer);
  }
  const Collected& changes = all[kChanges];
  int seen = 0;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    const auto known = values.find({changes.Text("customer_id", row), KindOf(changes, row)});
    if (known == values.end()) continue;
    ++seen;
    ASSERT_EQ(changes.Text("old_value", row), known->second);
    ASSERT_NE(changes.Text("new_value", row), known->second);
    known->second = changes.Text("new_value", row);
  }
  EXPECT_GT(seen, 1'000);
}

TEST(Changes, PaymentsUseTheReceiversCurrentKey) {
  Collector& all = RestlessRows();
  const Collected& changes = all[kChanges];
  const Collected& accounts = all[kAccounts];
  const Collected& rows = all[kTransactions];
  std::map<std::string, std::string> owners;
  for (std::size_t row = 0; row < accounts.rows; ++row) {
    owners[accounts.Text("account_id", row)] = accounts.Text("customer_id", row);
  }
  // The last key added, and the one that the first removal names.
  std::map<std::string, std::map<int64_t, std::string>> keys;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    const std::string& customer = changes.Text("customer_id", row);
    const int64_t time = changes.Number("changed_at", row);
    if (KindOf(changes, row) == ChangeKind::kPixKeyRemoved) {
      keys[customer].emplace(INT64_MIN, changes.Text("old_value", row));
    }
    if (KindOf(changes, row) == ChangeKind::kPixKeyAdded) {
      keys[customer][time] = changes.Text("new_value", row);
    }
  }
  int before = 0;
  int after = 0;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (!rows.Has("pix_key_destination", row)) continue;
    const auto owner = owners.find(rows.Text("counterparty_account", row));
    if (owner == owners.end() || !keys.contains(owner->second)) continue;
    const auto& theirs = keys[owner->second];
    const auto later = theirs.upper_bound(rows.Number("timestamp", row));
    if (later == theirs.begin()) continue;
    const auto [since, key] = *std::prev(later);
    ASSERT_EQ(rows.Text("pix_key_destination", row), key);
    ++(since == INT64_MIN ? before : after);
  }
  EXPECT_GT(before, 50);
  EXPECT_GT(after, 50);
}

TEST(Changes, ClosedAccountsNeitherPayNorReceive) {
  Collector& all = RestlessRows();
  const Collected& changes = all[kChanges];
  const Collected& rows = all[kTransactions];
  std::map<std::string, int64_t> closed;
  std::map<std::string, int64_t> closed_accounts;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    if (KindOf(changes, row) != ChangeKind::kAccountClosed) continue;
    closed[changes.Text("customer_id", row)] = changes.Number("changed_at", row);
    closed_accounts[changes.Text("old_value", row)] = changes.Number("changed_at", row);
  }
  ASSERT_GT(closed.size(), 20u);
  std::set<std::string> active;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const int64_t time = rows.Number("timestamp", row);
    const auto payer = closed.find(rows.Text("customer_id", row));
    if (payer != closed.end()) {
      ASSERT_LT(time, payer->second);
      active.insert(payer->first);
    }
    const auto receiver = closed_accounts.find(rows.Text("counterparty_account", row));
    if (receiver != closed_accounts.end()) {
      ASSERT_LT(time, receiver->second);
    }
  }
  EXPECT_GT(active.size(), closed.size() / 2);
}

TEST(Changes, RemovedDevicesAreNotUsedAgain) {
  Collector& all = RestlessRows();
  const Collected& changes = all[kChanges];
  const Collected& rows = all[kTransactions];
  std::map<std::pair<std::string, std::string>, int64_t> removed;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    const ChangeKind kind = KindOf(changes, row);
    if (kind != ChangeKind::kDeviceRemoved && kind != ChangeKind::kDeviceReplaced) continue;
    removed[{changes.Text("customer_id", row), changes.Text("old_value", row)}] =
        changes.Number("changed_at", row);
  }
  ASSERT_GT(removed.size(), 50u);
  int before = 0;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const auto found = removed.find({rows.Text("customer_id", row), rows.Text("device_id", row)});
    if (found == removed.end()) continue;
    ASSERT_LT(rows.Number("timestamp", row), found->second);
    ++before;
  }
  EXPECT_GT(before, 500);
}

// Positions at night are at the old home before a move and at the new one afterwards.
TEST(Changes, MovesChangeThePositionAtNight) {
  Collector& all = RestlessRows();
  const Collected& changes = all[kChanges];
  const Collected& rows = all[kTransactions];
  std::map<std::string, int64_t> moved;
  std::set<std::string> twice;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    if (KindOf(changes, row) != ChangeKind::kAddressChanged) continue;
    const std::string& customer = changes.Text("customer_id", row);
    if (!moved.emplace(customer, changes.Number("changed_at", row)).second) twice.insert(customer);
  }
  std::map<std::string, std::array<std::map<std::pair<int64_t, int64_t>, int>, 2>> homes;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const std::string& customer = rows.Text("customer_id", row);
    const int64_t time = rows.Number("timestamp", row);
    const auto move = moved.find(customer);
    if (move == moved.end() || twice.contains(customer) || !rows.Has("geolocation_lat", row) ||
        static_cast<Kind>(rows.Number("type", row)) != Kind::kPix ||
        rows.Number("is_fraud", row) != 0 ||
        (time % kDay >= 8 * kHour && time % kDay < 19 * kHour)) {
      continue;
    }
    const std::pair place(rows.Number("geolocation_lat", row) / 5'000,
                          rows.Number("geolocation_lon", row) / 5'000);
    ++homes[customer][time < move->second ? 0 : 1][place];
  }
  int elsewhere = 0;
  int same = 0;
  for (const auto& [customer, sides] : homes) {
    for (const auto& [place, count] : sides[1]) {
      if (count < 4 || sides[0].empty()) continue;
      (sides[0].contains(place) ? same : elsewhere) += 1;
    }
  }
  EXPECT_GT(elsewhere, 30);
  EXPECT_LT(same * 5, elsewhere);
}

TEST(Changes, ScheduledChangesApplyAtTheirTime) {
  const World world(Restless());
  CustomerState customer(world, 5, 0, 16 * 60);
  const Person before = customer.person;
  const int64_t time = world.begin() + 40 * kDay + 9 * kHour;
  customer.Begin(time - 1);
  customer.Schedule({.time = time + 2, .kind = LifeChange::kIncome, .value = before.income * 2});
  customer.Schedule({.time = time, .kind = LifeChange::kCreditLimit, .value = 12'345});
  customer.Schedule({.time = time + 1, .kind = LifeChange::kAddress, .value = 1});
  customer.SortScheduled();
  EXPECT_EQ(customer.FinalValue(LifeChange::kCreditLimit), 12'345);
  customer.Begin(time - 1);
  EXPECT_EQ(customer.person.credit_limit, before.credit_limit);
  customer.Begin(time);
  EXPECT_EQ(customer.person.credit_limit, 12'345);
  EXPECT_EQ(customer.person.home, before.home);
  customer.Begin(time + 1);
  EXPECT_NE(customer.person.home, before.home);
  EXPECT_EQ(customer.person.income, before.income);
  customer.Begin(time + 2);
  EXPECT_EQ(customer.person.income, before.income * 2);
}

// Two identical customers, one with three times the income from some day on.
TEST(Changes, IncomeChangesTheNextSalary) {
  const World world(Restless());
  uint64_t number = 0;
  while (world.PersonOf(number).opened_at >= world.begin()) ++number;
  CustomerState one(world, number, 0, 16 * 60);
  CustomerState other(world, number, 0, 16 * 60);
  const int64_t from = world.begin() + 3 * kDay;
  for (CustomerState* customer : {&one, &other}) customer->balance = 0;
  other.Schedule({.time = from, .kind = LifeChange::kIncome, .value = other.person.income * 3});
  for (CustomerState* customer : {&one, &other}) customer->Begin(from + 60 * kDay);
  EXPECT_GT(one.balance, 0);
  EXPECT_GT(other.balance, one.balance * 2);
}

TEST(Changes, PurchasesRespectTheCurrentLimit) {
  Collector& all = RestlessRows();
  const Collected& changes = all[kChanges];
  const Collected& accounts = all[kAccounts];
  std::map<std::string, std::map<int64_t, int64_t>> limits;
  for (std::size_t row = 0; row < accounts.rows; ++row) {
    limits[accounts.Text("customer_id", row)][INT64_MIN] = accounts.Number("credit_limit", row);
  }
  for (std::size_t row = 0; row < changes.rows; ++row) {
    if (KindOf(changes, row) != ChangeKind::kLimitChanged) continue;
    limits[changes.Text("customer_id", row)][changes.Number("changed_at", row)] =
        static_cast<int64_t>(std::stod(changes.Text("new_value", row)) * 100 + 0.5);
  }
  // No purchase without instalments exceeds the limit at its time.
  const Collected& rows = all[kTransactions];
  int after = 0;  // purchases after a limit change
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (static_cast<Kind>(rows.Number("type", row)) != Kind::kCreditCard ||
        static_cast<PaymentStatus>(rows.Number("status", row)) != PaymentStatus::kApproved) {
      continue;
    }
    const auto& theirs = limits[rows.Text("customer_id", row)];
    const int64_t limit = std::prev(theirs.upper_bound(rows.Number("timestamp", row)))->second;
    ASSERT_LE(rows.Number("amount", row), limit);
    after += limit != theirs.begin()->second ? 1 : 0;
  }
  EXPECT_GT(after, 500);
}

}  // namespace changes_test
}  // namespace reveza::fraudgen::coherent
