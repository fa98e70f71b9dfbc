#include "fraudgen/model/coherent/labels.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace labels_test {

// With many false reports, to see them.
Parameters Reported() {
  Parameters parameters = Small();
  parameters.rides = parameters.rows;
  parameters.difficulty_scale.falsely_reported = {20'000, 20'000};
  return parameters;
}

Collector At(int64_t day) {
  Parameters parameters = Reported();
  parameters.labels_as_of = day;
  return Everything(*ModelOf(parameters));
}

Collector& Full() {
  static Collector collector = Everything(*ModelOf(Reported()));
  return collector;
}

// The last days of the months, and one after the last report.
std::vector<int64_t> Days() {
  std::vector<int64_t> days;
  for (int month = 2; month <= 12; ++month) days.push_back(DaysOf({2024, month, 1}) - 1);
  days.push_back(DaysOf({2024, 12, 31}));
  days.push_back(DaysOf({2026, 12, 31}));
  return days;
}

bool IsLabel(std::string_view column) {
  return column == "is_fraud" || column.starts_with("fraud_");
}

// What a label says of a row.
enum class Verdict { kHonest, kFraud, kPending };

// Compares the labels of a row with the full ones, and says what they are.
Verdict Judge(const Collected& known, const Collected& full, std::size_t row, int64_t end) {
  const bool reported =
      full.Has("fraud_reported_at", row) && full.Number("fraud_reported_at", row) < end;
  EXPECT_EQ(known.Has("fraud_reported_at", row), reported);
  if (reported) {
    EXPECT_EQ(known.Number("fraud_reported_at", row), full.Number("fraud_reported_at", row));
  }
  const bool is_fraud = known.Number("is_fraud", row) != 0;
  for (const std::string_view column : {"fraud_type", "fraud_role"}) {
    EXPECT_EQ(known.Has(column, row), is_fraud) << column;
  }
  if (full.Number("is_fraud", row) == 0) {
    EXPECT_TRUE(reported || !is_fraud);
    return is_fraud ? Verdict::kPending : Verdict::kHonest;
  }
  EXPECT_EQ(is_fraud, reported);
  if (is_fraud) {
    EXPECT_EQ(known.Number("fraud_role", row), full.Number("fraud_role", row));
  }
  return is_fraud ? Verdict::kFraud : Verdict::kHonest;
}

void ExpectTheRestIsTheSame(const Collected& known, const Collected& full) {
  ASSERT_EQ(known.rows, full.rows);
  for (std::size_t i = 0; i < full.columns.size(); ++i) {
    if (IsLabel(full.table->columns[i].name)) continue;
    EXPECT_TRUE(known.columns[i] == full.columns[i]) << full.table->columns[i].name;
  }
}

void ExpectLabelsGrow(const Table& table) {
  const Collected& full = Full()[table];
  std::vector<Verdict> before(full.rows, Verdict::kHonest);
  std::set<std::size_t> cleared;
  std::size_t pending = 0;
  for (const int64_t day : Days()) {
    Collector all = At(day);
    const Collected& known = all[table];
    ExpectTheRestIsTheSame(known, full);
    for (std::size_t row = 0; row < full.rows; ++row) {
      const Verdict now = Judge(known, full, row, (day + 1) * kDay);
      if (before[row] == Verdict::kFraud) {
        EXPECT_EQ(now, Verdict::kFraud);
      }
      if (before[row] == Verdict::kPending && now == Verdict::kHonest) cleared.insert(row);
      if (now == Verdict::kPending) {
        ++pending;
        EXPECT_FALSE(cleared.contains(row)) << "pending again";
      }
      before[row] = now;
    }
  }
  EXPECT_GT(pending, 20u);
  EXPECT_GT(cleared.size(), 10u);
  // In the end all is decided, and what was never reported is not known.
  for (std::size_t row = 0; row < full.rows; ++row) {
    const bool fraud = full.Number("is_fraud", row) != 0 && full.Has("fraud_reported_at", row);
    EXPECT_EQ(before[row], fraud ? Verdict::kFraud : Verdict::kHonest);
  }
}

TEST(Labels, OfPaymentsGrowByReports) { ExpectLabelsGrow(kTransactions); }
TEST(Labels, OfRidesGrowByReports) { ExpectLabelsGrow(kRides); }

constexpr int64_t kSomeDay = 19'723 + 170;
constexpr int64_t kSomeEnd = (kSomeDay + 1) * kDay;
Collector& Known() {
  static Collector collector = At(kSomeDay);
  return collector;
}

TEST(Labels, WithoutADayAreComplete) {
  const auto model = ModelOf(Reported());
  const Labels labels(model->world());
  EXPECT_TRUE(labels.AreComplete());
  EXPECT_TRUE(labels.KnowsReport(kNever));
}

TEST(Labels, ADisputeIsUndecidedUntilItsDecision) {
  const Collected& full = Full()[kDisputes];
  const Collected& known = Known()[kDisputes];
  std::size_t at = 0;
  std::size_t undecided = 0;
  for (std::size_t row = 0; row < full.rows; ++row) {
    if (full.Number("opened_at", row) >= kSomeEnd) continue;
    ASSERT_LT(at, known.rows);
    ASSERT_EQ(known.Text("dispute_id", at), full.Text("dispute_id", row));
    const bool decided = full.Number("decided_at", row) < kSomeEnd;
    undecided += decided ? 0 : 1;
    for (const std::string_view column : {"decided_at", "refunded_amount", "outcome"}) {
      ASSERT_EQ(known.Has(column, at), decided) << column;
      if (decided) {
        EXPECT_EQ(known.Number(column, at), full.Number(column, row)) << column;
      }
    }
    ++at;
  }
  EXPECT_EQ(at, known.rows);
  EXPECT_GT(undecided, 20u);
  EXPECT_GT(at, undecided + 20);
}

// A report of an honest payment counts exactly as long as its dispute is open.
TEST(Labels, FalseReportsCountUntilTheirDisputeIsDecided) {
  std::set<std::string> open;
  const Collected& disputes = Known()[kDisputes];
  for (std::size_t row = 0; row < disputes.rows; ++row) {
    if (!disputes.Has("decided_at", row)) open.insert(disputes.Text("transaction_id", row));
  }
  const Collected& full = Full()[kTransactions];
  const Collected& known = Known()[kTransactions];
  std::set<std::string> types;
  for (std::size_t row = 0; row < full.rows; ++row) {
    if (full.Number("is_fraud", row) != 0) continue;
    const bool counts = known.Number("is_fraud", row) != 0;
    EXPECT_EQ(counts, open.contains(full.Text("transaction_id", row)));
    if (counts) types.insert(known.Text("fraud_type", row));
  }
  EXPECT_GT(types.size(), 2u);
}

TEST(Labels, SettlementsAreThereOnceTheySettle) {
  const Collected& full = Full()[kSettlements];
  std::vector<std::string> expected;
  for (std::size_t row = 0; row < full.rows; ++row) {
    if (full.Number("settled_at", row) < kSomeEnd)
      expected.push_back(full.Text("settlement_id", row));
  }
  EXPECT_EQ(Known()[kSettlements]["settlement_id"].texts, expected);
  EXPECT_LT(expected.size() + 20, full.rows);
}

// Customers with a fraud that was reported by then.
std::set<std::string> KnownFraudsters() {
  const Collected& full = Full()[kTransactions];
  std::set<std::string> customers;
  for (std::size_t row = 0; row < full.rows; ++row) {
    const bool reported =
        full.Has("fraud_reported_at", row) && full.Number("fraud_reported_at", row) < kSomeEnd;
    if (reported && full.Number("is_fraud", row) != 0) {
      customers.insert(full.Text("customer_id", row));
    }
  }
  return customers;
}

TEST(Labels, AccountsHaveTheirRoleOnceAFraudOfTheirsIsReported) {
  const std::set<std::string> fraudsters = KnownFraudsters();
  const Collected& full = Full()[kAccounts];
  const Collected& known = Known()[kAccounts];
  ExpectTheRestIsTheSame(known, full);
  std::map<bool, int> roles;
  for (std::size_t row = 0; row < full.rows; ++row) {
    const bool is_known =
        full.Has("fraud_role", row) && fraudsters.contains(full.Text("customer_id", row));
    ASSERT_EQ(known.Has("fraud_role", row), is_known);
    if (is_known) {
      EXPECT_EQ(known.Number("fraud_role", row), full.Number("fraud_role", row));
    }
    if (full.Has("fraud_role", row)) ++roles[is_known];
  }
  EXPECT_GT(roles[true], 5);
  EXPECT_GT(roles[false], 5);
}

TEST(Labels, RingsHaveReportedPaymentsAndKnownMules) {
  const Collected& transactions = Known()[kTransactions];
  std::set<std::string> frauds;
  for (std::size_t row = 0; row < transactions.rows; ++row) {
    if (transactions.Number("is_fraud", row) != 0)
      frauds.insert(transactions.Text("transaction_id", row));
  }
  const std::set<std::string> fraudsters = KnownFraudsters();
  const Collected& full = Full()[kRings];
  std::vector<std::string> expected;
  for (std::size_t row = 0; row < full.rows; ++row) {
    const bool is_known = full.Has("transaction_id", row)
                              ? frauds.contains(full.Text("transaction_id", row))
                              : fraudsters.contains(full.Text("customer_id", row));
    if (is_known) expected.push_back(full.Text("customer_id", row));
  }
  EXPECT_EQ(Known()[kRings]["customer_id"].texts, expected);
  EXPECT_GT(expected.size(), 20u);
  EXPECT_LT(expected.size() + 20, full.rows);
}

// All other changes happen as they do.
TEST(Labels, NoFraudstersDeviceIsRemovedAfterThatDay) {
  const Collected& full = Full()[kChanges];
  const Collected& known = Known()[kChanges];
  std::size_t removed = 0;
  std::size_t at = 0;
  for (std::size_t row = 0; row < full.rows; ++row) {
    const bool same = at < known.rows &&
                      known.Number("changed_at", at) == full.Number("changed_at", row) &&
                      known.Text("customer_id", at) == full.Text("customer_id", row) &&
                      known.Number("change", at) == full.Number("change", row);
    if (same) {
      ++at;
      continue;
    }
    ++removed;
    EXPECT_EQ(static_cast<ChangeKind>(full.Number("change", row)), ChangeKind::kDeviceRemoved);
    EXPECT_GE(full.Number("changed_at", row), kSomeEnd);
  }
  EXPECT_EQ(at, known.rows);
  EXPECT_GT(removed, 10u);
}

TEST(Labels, TablesWithoutLabelsAreTheSame) {
  for (const Table* table : {&kCustomers, &kDevices, &kDrivers, &kRideAlerts}) {
    EXPECT_TRUE(Known()[*table] == Full()[*table]) << table->name;
  }
}

TEST(Labels, AnAlertIsNotReviewedBeforeItsReview) {
  const Collected& full = Full()[kAlerts];
  const Collected& known = Known()[kAlerts];
  ASSERT_EQ(known.rows, full.rows);
  std::map<bool, int> reviews;
  for (std::size_t i = 0; i < full.columns.size(); ++i) {
    const std::string_view name = full.table->columns[i].name;
    if (name != "reviewed_at" && name != "decision") {
      EXPECT_TRUE(known.columns[i] == full.columns[i]) << name;
      continue;
    }
    for (std::size_t row = 0; row < full.rows; ++row) {
      if (!full.Has(name, row)) continue;
      const bool is_known = full.Number("reviewed_at", row) < kSomeEnd;
      EXPECT_EQ(known.Has(name, row), is_known);
      if (is_known) {
        EXPECT_EQ(known.Number(name, row), full.Number(name, row));
      }
      ++reviews[is_known];
    }
  }
  EXPECT_GT(reviews[true], 20);
  EXPECT_GT(reviews[false], 20);
}

TEST(Labels, OfATableAloneAreTheSame) {
  Parameters parameters = Reported();
  parameters.labels_as_of = kSomeDay;
  const auto model = ModelOf(parameters);
  for (const Table* table : {&kAccounts, &kRings, &kDisputes, &kTransactions}) {
    Collector alone;
    for (uint64_t block = 0; block < model->blocks(); ++block) {
      ASSERT_TRUE(model->Make(block, std::span(&table, 1), alone));
    }
    EXPECT_TRUE(alone[*table] == Known()[*table]) << table->name;
  }
}

// With other scenarios a kind of payment may have no fraud that a customer could claim.
TEST(Labels, AReportOfWhatNoScenarioPaysDoesNotCount) {
  Parameters parameters = Reported();
  parameters.labels_as_of = kSomeDay;
  std::erase_if(parameters.scenarios,
                [](const Scenario& scenario) { return scenario.name != "LAVAGEM_DINHEIRO"; });
  Collector known = Everything(*ModelOf(parameters));
  parameters.labels_as_of.reset();
  Collector full = Everything(*ModelOf(parameters));
  const Collected& rows = known[kTransactions];
  for (std::size_t row = 0; row < rows.rows; ++row) {
    EXPECT_LE(rows.Number("is_fraud", row), full[kTransactions].Number("is_fraud", row));
  }
}

}  // namespace labels_test
}  // namespace reveza::fraudgen::coherent
