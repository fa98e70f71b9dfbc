// Log-ins agree with payments, devices and changes, and precede frauds.
#include "fraudgen/model/coherent/sessions.h"

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
namespace sessions_test {

constexpr std::array<const char*, 6> kEvents = {"device_registered", "sim_changed",
                                                "password_reset",    "limit_requested",
                                                "pix_key_added",     "remote_access"};

Parameters WithSessions() {
  Parameters parameters = Small();
  parameters.sessions = true;
  return parameters;
}

// A single kind of fraud, whose traits are not concealed.
Parameters Only(std::string_view name) {
  Parameters parameters = WithSessions();
  parameters.difficulty = 0;
  parameters.difficulty_scale.overlap_thousandths = {0, 0};
  for (Scenario& scenario : parameters.scenarios) {
    if (scenario.name != name) scenario.weight = 0;
  }
  return parameters;
}

Collector& Rows() {
  static Collector collector = Everything(*ModelOf(WithSessions()));
  return collector;
}

using Pair = std::pair<std::string, std::string>;  // device and customer

std::map<Pair, int64_t> FirstUses(Collector& all) {
  std::map<Pair, int64_t> uses;
  const Collected& devices = all[kDevices];
  for (std::size_t row = 0; row < devices.rows; ++row) {
    uses[{devices.Text("device_id", row), devices.Text("customer_id", row)}] =
        devices.Number("first_use", row);
  }
  return uses;
}

std::map<std::string, std::size_t> ById(const Collected& rows, std::string_view column) {
  std::map<std::string, std::size_t> places;
  for (std::size_t row = 0; row < rows.rows; ++row) places[rows.Text(column, row)] = row;
  return places;
}

// Returns the rows of each customer.
std::map<std::string, std::vector<std::size_t>> OfCustomers(const Collected& rows) {
  std::map<std::string, std::vector<std::size_t>> of;
  for (std::size_t row = 0; row < rows.rows; ++row)
    of[rows.Text("customer_id", row)].push_back(row);
  return of;
}

bool Failed(const Collected& sessions, std::size_t row) {
  return static_cast<SessionOutcome>(sessions.Number("outcome", row)) == SessionOutcome::kFailed;
}
bool IsPhone(const Collected& sessions, std::size_t row) {
  return static_cast<SessionChannel>(sessions.Number("channel", row)) == SessionChannel::kMobileApp;
}

TEST(Sessions, ChangeNoOtherTable) {
  EXPECT_EQ(SmallRows()[kSessions].rows, 0u);
  for (const Table* table : Tables()) {
    EXPECT_TRUE(Rows()[*table] == SmallRows()[*table]) << table->name;
  }
}

TEST(Sessions, DoNotDependOnOtherTables) {
  const auto model = ModelOf(WithSessions());
  const Table* const wanted = &kSessions;
  Collector alone;
  for (uint64_t block = 0; block < model->blocks(); ++block) {
    ASSERT_TRUE(model->Make(block, std::span(&wanted, 1), alone));
  }
  EXPECT_TRUE(alone[kSessions] == Rows()[kSessions]);
}

TEST(Sessions, AreInOrderOfTimeWithUniqueIds) {
  const auto model = ModelOf(WithSessions());
  const Table* const wanted = &kSessions;
  std::set<std::string> ids;
  for (uint64_t block = 0; block < model->blocks(); ++block) {
    Collector collector;
    ASSERT_TRUE(model->Make(block, std::span(&wanted, 1), collector));
    const Collected& sessions = collector[kSessions];
    for (std::size_t row = 0; row < sessions.rows; ++row) {
      EXPECT_TRUE(ids.insert(sessions.Text("session_id", row)).second);
      if (row > 0) {
        ASSERT_GE(sessions.Number("started_at", row), sessions.Number("started_at", row - 1));
      }
    }
  }
  EXPECT_GT(ids.size(), 10'000u);
}

TEST(Sessions, EachPaymentByDeviceOrAtABranchHasOne) {
  const Collected& rows = Rows()[kTransactions];
  const Collected& sessions = Rows()[kSessions];
  const auto places = ById(sessions, "session_id");
  std::set<std::string> seen;
  std::size_t at_branches = 0;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const auto session = places.find(rows.Text("session_id", row));
    const bool branch = static_cast<Channel>(rows.Number("channel", row)) == Channel::kBranch;
    ASSERT_EQ(session != places.end(), rows.Has("device_id", row) || branch);
    if (session == places.end()) continue;
    const std::size_t at = session->second;
    EXPECT_EQ(sessions.Text("customer_id", at), rows.Text("customer_id", row));
    EXPECT_EQ(sessions.Text("device_id", at), rows.Text("device_id", row));
    EXPECT_FALSE(Failed(sessions, at));
    at_branches += branch ? 1 : 0;
    const int64_t time = rows.Number("timestamp", row);
    const int64_t started_at = sessions.Number("started_at", at);
    EXPECT_LE(started_at, time);
    if (!seen.insert(session->first).second) continue;
    EXPECT_EQ(sessions.Text("ip_address", at), rows.Text("ip_address", row));
    EXPECT_GE(started_at, time - 4 * kMinute);
    EXPECT_EQ(started_at / kDay, time / kDay);
  }
  EXPECT_GT(at_branches, 10u);
  EXPECT_GT(sessions.rows, seen.size() * 5 / 4) << "many are without payments";
}

TEST(Sessions, AreOfOpenAccountsAndFailuresHaveNoEvents) {
  const Collected& sessions = Rows()[kSessions];
  const Collected& accounts = Rows()[kAccounts];
  const auto places = ById(accounts, "account_id");
  std::size_t failures = 0;
  for (std::size_t row = 0; row < sessions.rows; ++row) {
    const std::size_t account = places.at(sessions.Text("account_id", row));
    EXPECT_EQ(accounts.Text("customer_id", account), sessions.Text("customer_id", row));
    EXPECT_GE(sessions.Number("started_at", row), accounts.Number("opened_at", account));
    if (!Failed(sessions, row)) continue;
    ++failures;
    EXPECT_GT(sessions.Number("failed_attempts", row), 0);
    for (const char* event : kEvents) EXPECT_EQ(sessions.Number(event, row), 0) << event;
  }
  EXPECT_GT(failures, 100u);
}

TEST(Sessions, TheFirstOfADeviceRegistersIt) {
  const auto uses = FirstUses(Rows());
  const Collected& sessions = Rows()[kSessions];
  const int64_t begin = Small().first_day * kDay;
  std::set<Pair> seen;
  std::size_t added = 0;
  std::size_t unknown = 0;
  std::size_t again = 0;
  for (std::size_t row = 0; row < sessions.rows; ++row) {
    if (Failed(sessions, row) || !sessions.Has("device_id", row)) continue;
    const Pair pair = {sessions.Text("device_id", row), sessions.Text("customer_id", row)};
    const auto use = uses.find(pair);
    const bool first = seen.insert(pair).second;
    const bool expected = use != uses.end() && use->second >= begin && first;
    const bool registered = sessions.Number("device_registered", row) != 0;
    unknown += use == uses.end() ? 1 : 0;
    again += registered && !expected ? 1 : 0;
    if (registered) {
      EXPECT_NE(use, uses.end());
    }
    if (!expected) continue;
    EXPECT_TRUE(registered);
    ++added;
    // A fraudster's device is added at its first payment.
    EXPECT_LE(use->second, sessions.Number("started_at", row) + 4 * kMinute);
  }
  EXPECT_GT(added, 100u);
  EXPECT_GT(unknown, 100u) << "customers log in with other devices";
  EXPECT_GT(again, 100u) << "after the app was installed anew";
}

TEST(Sessions, ChangesAreSeenInThem) {
  const Collected& changes = Rows()[kChanges];
  const Collected& sessions = Rows()[kSessions];
  const auto of = OfCustomers(sessions);
  const auto uses = FirstUses(Rows());
  std::size_t keys = 0;
  std::size_t sims = 0;
  for (std::size_t row = 0; row < changes.rows; ++row) {
    const auto kind = static_cast<ChangeKind>(changes.Number("change", row));
    const int64_t time = changes.Number("changed_at", row);
    const auto found = of.find(changes.Text("customer_id", row));
    if (found == of.end()) continue;
    if (kind == ChangeKind::kPixKeyAdded) {
      ++keys;
      EXPECT_TRUE(std::ranges::any_of(found->second, [&](std::size_t at) {
        return sessions.Number("pix_key_added", at) != 0 &&
               sessions.Number("started_at", at) <= time &&
               sessions.Number("started_at", at) >= time - 4 * kMinute;
      }));
    }
    if (kind != ChangeKind::kSimChanged) continue;
    const auto next = std::ranges::find_if(found->second, [&](std::size_t at) {
      return sessions.Number("sim_changed", at) != 0 && sessions.Number("started_at", at) >= time;
    });
    const auto login = std::ranges::find_if(found->second, [&](std::size_t at) {
      return IsPhone(sessions, at) && !Failed(sessions, at) &&
             uses.contains({sessions.Text("device_id", at), sessions.Text("customer_id", at)}) &&
             sessions.Number("started_at", at) >= time + kDay;
    });
    if (login == found->second.end()) continue;
    ++sims;
    ASSERT_NE(next, found->second.end());
    EXPECT_LE(*next, *login) << "by the first log-in of a phone after a day";
  }
  EXPECT_GT(keys, 30u);
  EXPECT_GT(sims, 20u);
}

// Returns the first payment of each customer's takeover or guided fraud: customer to row.
std::map<std::string, std::size_t> FirstFrauds(const Collected& rows) {
  std::map<std::string, std::size_t> first;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (rows.Number("is_fraud", row) == 0) continue;
    const auto role = static_cast<FraudRole>(rows.Number("fraud_role", row));
    if (role == FraudRole::kMuleHop || role == FraudRole::kCashOut) continue;
    first.emplace(rows.Text("customer_id", row), row);
  }
  return first;
}

// Returns the share of the first frauds, in percent, before which an event is in a log-in, at
// least `min` and at most `max` minutes before.
std::size_t PercentBefore(Collector& all, const char* event, int64_t min, int64_t max) {
  const Collected& rows = all[kTransactions];
  const Collected& sessions = all[kSessions];
  const auto of = OfCustomers(sessions);
  std::size_t found = 0;
  const auto first = FirstFrauds(rows);
  for (const auto& [customer, row] : first) {
    const int64_t time = rows.Number("timestamp", row);
    found += std::ranges::any_of(of.at(customer), [&](std::size_t at) {
      const int64_t before = time - sessions.Number("started_at", at);
      return sessions.Number(event, at) != 0 && before >= min * kMinute && before <= max * kMinute;
    });
  }
  EXPECT_GT(first.size(), 20u);
  return found * 100 / std::max<std::size_t>(first.size(), 1);
}

TEST(Sessions, HaveSignsBeforeFrauds) {
  // The victim's phone is operated remotely, or the password is reset, before the money moves.
  Collector ghost_hand = Everything(*ModelOf(Only("MAO_FANTASMA")));
  EXPECT_GT(PercentBefore(ghost_hand, "remote_access", 2, 60), 75u);
  Collector takeovers = Everything(*ModelOf(Only("TOMADA_NOTURNA")));
  EXPECT_LT(PercentBefore(takeovers, "remote_access", 2, 60), 10u);
  const std::size_t resets = PercentBefore(takeovers, "password_reset", 5, 2'000);
  EXPECT_GT(resets, 25u);
  EXPECT_LT(resets, 60u);
  EXPECT_GT(PercentBefore(takeovers, "limit_requested", 5, 2'000), 45u);
  Collector swaps = Everything(*ModelOf(Only("SIM_SWAP")));
  EXPECT_GT(PercentBefore(swaps, "sim_changed", 0, 300), 40u);
}

TEST(Sessions, SignsFollowFromTheScenario) {
  Parameters parameters = Only("MAO_FANTASMA");
  Named(parameters, "MAO_FANTASMA").signs = {.log_in_minutes = {30, 31},
                                             .limit_request_thousandths = 1'000};
  Collector rows = Everything(*ModelOf(parameters));
  EXPECT_GT(PercentBefore(rows, "limit_requested", 29, 32), 85u);
  EXPECT_LT(PercentBefore(rows, "remote_access", 0, 60), 10u);
  parameters.difficulty_scale.overlap_thousandths = {1'000, 1'000};
  rows = Everything(*ModelOf(parameters));
  EXPECT_LT(PercentBefore(rows, "limit_requested", 29, 32), 10u) << "concealed";
}

TEST(Sessions, LeakedPasswordsAreTriedAtAccountsThatAreNotTakenOver) {
  Collector all = Everything(*ModelOf(Only("CREDENTIAL_STUFFING")));
  const Collected& sessions = all[kSessions];
  const auto uses = FirstUses(all);
  // Failures within an hour, by address.
  std::map<std::pair<std::string, int64_t>, std::set<std::string>> tried;
  for (std::size_t row = 0; row < sessions.rows; ++row) {
    if (!Failed(sessions, row)) continue;
    tried[{sessions.Text("ip_address", row), sessions.Number("started_at", row) / kHour}].insert(
        sessions.Text("customer_id", row));
  }
  const auto first = FirstFrauds(all[kTransactions]);
  std::size_t attacks = 0;
  std::size_t accounts = 0;
  std::size_t never_taken = 0;
  for (const auto& [address, customers] : tried) {
    if (customers.size() < 6) continue;
    ++attacks;
    accounts += customers.size();
    never_taken += static_cast<std::size_t>(std::ranges::count_if(
        customers, [&](const std::string& customer) { return !first.contains(customer); }));
  }
  EXPECT_GT(attacks, 10u);
  EXPECT_GT(never_taken * 4, accounts) << "many are never taken over";
}

TEST(Sessions, OfHonestCustomersHaveEveryEvent) {
  const Collected& sessions = Rows()[kSessions];
  const auto first = FirstFrauds(Rows()[kTransactions]);
  std::map<std::string, std::size_t> events;
  std::size_t at_night = 0;
  for (std::size_t row = 0; row < sessions.rows; ++row) {
    if (first.contains(sessions.Text("customer_id", row))) continue;
    for (const char* event : kEvents) events[event] += sessions.Number(event, row) != 0 ? 1 : 0;
    at_night += sessions.Number("started_at", row) % kDay < 5 * kHour ? 1 : 0;
  }
  for (const char* event : kEvents) EXPECT_GT(events[event], 10u) << event;
  EXPECT_GT(at_night, 100u);
}

// A golden hash: changing it changes the data of every seed.
TEST(Sessions, KeepTheirGoldenRows) {
  EXPECT_EQ(HashOf(Rows()[kSessions], 0), 3611189011440203897u);
}

}  // namespace sessions_test
}  // namespace reveza::fraudgen::coherent
