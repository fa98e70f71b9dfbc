#include "fraudgen/model/coherent/review.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "fraudgen/model/coherent/testing_small_model.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::coherent {
namespace review_test {

constexpr int64_t kFriday = 20'091;  // 2025-01-03
constexpr int64_t kMonday = kFriday + 3;
int64_t At(int64_t day, int64_t hour) { return day * kDay + hour * kHour; }

TEST(WorkingHours, WorkPausesAtNightAndOnWeekends) {
  ASSERT_EQ(WeekdayOf(kFriday), Weekday::kFriday);
  const WorkingHours hours(8, 20);
  EXPECT_EQ(hours.After(At(kFriday, 9), 2 * kHour), At(kFriday, 11));
  EXPECT_EQ(hours.After(At(kFriday - 1, 3), kHour), At(kFriday - 1, 9));
  EXPECT_EQ(hours.After(At(kFriday - 1, 19), 2 * kHour), At(kFriday, 9));
  EXPECT_EQ(hours.After(At(kFriday, 19), 2 * kHour), At(kMonday, 9));
  EXPECT_EQ(hours.After(At(kFriday + 1, 10), kHour), At(kMonday, 9)) << "on Saturday";
  EXPECT_EQ(hours.After(At(kFriday, 8), 24 * kHour), At(kMonday, 20));
  EXPECT_EQ(WorkingHours(0, 24).After(At(kFriday - 1, 23), 2 * kHour), At(kFriday, 1));
}

TEST(WorkingHours, WhatPilesUpWhileClosedComesFirst) {
  const WorkingHours hours(8, 20);
  EXPECT_EQ(hours.QueueAt(At(kFriday, 4), 25), 2 * kHour) << "after eight hours";
  EXPECT_EQ(hours.QueueAt(At(kFriday, 8), 25), 3 * kHour);
  EXPECT_EQ(hours.QueueAt(At(kFriday, 10), 25), kHour) << "two are done";
  EXPECT_EQ(hours.QueueAt(At(kFriday, 12), 25), 0);
  EXPECT_EQ(hours.QueueAt(At(kMonday, 8), 25), 15 * kHour);
  EXPECT_EQ(hours.QueueAt(At(kMonday, 20), 25), 3 * kHour) << "twelve hours are done";
  EXPECT_EQ(hours.QueueAt(At(kMonday + 1, 8), 25), 6 * kHour) << "and three came at night";
  EXPECT_EQ(hours.QueueAt(At(kFriday, 4), 0), 0);
  EXPECT_EQ(WorkingHours(0, 24).QueueAt(At(kFriday, 4), 100), 0) << "never closed";
}

TEST(WorkingHours, NoAlertOvertakesAnEarlierOne) {
  for (const WorkingHours hours : {WorkingHours(8, 20), WorkingHours(0, 24), WorkingHours(9, 17)}) {
    int64_t last = 0;
    for (int64_t time = At(kFriday, 0); time < At(kFriday + 8, 0); time += 10 * kMinute) {
      const int64_t done = hours.After(time, hours.QueueAt(time, 25) + kHour);
      EXPECT_GE(done, last);
      last = done;
    }
  }
}

World WorldAt(uint32_t difficulty) {
  Parameters parameters = Small();
  parameters.difficulty = difficulty;
  return World(parameters);
}

Row Suspect(uint64_t number, bool stopped) {
  Row row;
  row.number = number;
  row.time = At(kFriday, 2) + static_cast<int64_t>(number % (7 * 24)) * kHour;
  row.status = stopped ? PaymentStatus::kBlocked : PaymentStatus::kApproved;
  return row;
}

TEST(Review, StoppedPaymentsComeFirstAtAnyHour) {
  const World world = WorldAt(500);
  std::vector<int64_t> delays;
  for (uint64_t i = 0; i < 10'000; ++i) {
    Row row = Suspect(i, true);
    Review(world, row);
    ASSERT_GE(row.reviewed_at, row.time + kMinute);
    delays.push_back(row.reviewed_at - row.time);
  }
  std::ranges::sort(delays);
  EXPECT_NEAR(static_cast<double>(delays[5'000]) / kMinute, 12, 1);
  EXPECT_LT(delays[9'500], 2 * kHour);
}

TEST(Review, OthersWaitForOfficeHoursAndSomeForEver) {
  const World world = WorldAt(500);
  int never = 0;
  int next_day = 0;
  int days_later = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    Row row = Suspect(i, false);
    Review(world, row);
    if (row.reviewed_at == kNever) {
      ++never;
      continue;
    }
    ASSERT_GE(row.reviewed_at, row.time + kMinute);
    ASSERT_LT(WeekdayOf(row.reviewed_at / kDay), Weekday::kSaturday);
    ASSERT_GE(row.reviewed_at % kDay, 8 * kHour);
    ASSERT_LE(row.reviewed_at % kDay, 20 * kHour);
    next_day += row.reviewed_at - row.time < kDay ? 1 : 0;
    days_later += row.reviewed_at - row.time > 2 * kDay ? 1 : 0;
  }
  EXPECT_NEAR(never, 1'500, 150);
  EXPECT_GT(next_day, 4'000);
  EXPECT_GT(days_later, 500);
}

TEST(Review, OthersWaitForWhatPiledUpAtTheWeekend) {
  const World world = WorldAt(500);
  for (uint64_t i = 0; i < 1'000; ++i) {
    Row row = Suspect(i, false);
    row.time = At(kMonday, 10);
    Review(world, row);
    // Of fifteen hours two are done, and ten are left of Monday.
    ASSERT_TRUE(row.reviewed_at == kNever || row.reviewed_at > At(kMonday + 1, 11));
  }
}

// Returns how many of 20,000 alerts are decided wrongly.
int Mistakes(uint32_t difficulty, bool is_fraud, FraudRole role) {
  const World world = WorldAt(difficulty);
  int mistakes = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    Row row = Suspect(i, true);
    row.is_fraud = is_fraud;
    row.fraud_role = role;
    Review(world, row);
    mistakes += (row.decision == AlertDecision::kConfirmedFraud) != is_fraud ? 1 : 0;
  }
  return mistakes;
}

TEST(Review, MistakesAreMoreFrequentAtHigherDifficulty) {
  EXPECT_NEAR(Mistakes(0, true, FraudRole::kTakeover), 400, 80);
  EXPECT_NEAR(Mistakes(1'000, true, FraudRole::kTakeover), 3'000, 200);
  EXPECT_NEAR(Mistakes(0, true, FraudRole::kVictim), 1'200, 130);
  EXPECT_NEAR(Mistakes(1'000, true, FraudRole::kMuleHop), 9'000, 300);
  EXPECT_NEAR(Mistakes(0, false, FraudRole::kVictim), 100, 40);
  EXPECT_NEAR(Mistakes(1'000, false, FraudRole::kVictim), 800, 110);
}

TEST(Review, WhatWasReportedBeforeIsConfirmed) {
  const World world = WorldAt(1'000);
  for (uint64_t i = 0; i < 2'000; ++i) {
    Row row = Suspect(i, true);
    row.is_fraud = i % 2 == 0;
    row.reported_at = row.time + 1;
    Review(world, row);
    ASSERT_EQ(row.decision, AlertDecision::kConfirmedFraud);
  }
}

// Both decisions are sometimes wrong, and they are not the labels.
TEST(Review, AlertsHaveThem) {
  const Collected& alerts = SmallRows()[kAlerts];
  const Collected& rows = SmallRows()[kTransactions];
  std::map<std::string, bool> frauds;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    frauds[rows.Text("transaction_id", row)] = rows.Number("is_fraud", row) != 0;
  }
  std::map<std::pair<bool, bool>, int> counts;  // by fraud and confirmation
  int unseen = 0;
  for (std::size_t row = 0; row < alerts.rows; ++row) {
    ASSERT_EQ(alerts.Has("reviewed_at", row), alerts.Has("decision", row));
    if (!alerts.Has("decision", row)) {
      ++unseen;
      EXPECT_EQ(alerts.Number("action", row), 0) << "what was stopped is always reviewed";
      continue;
    }
    EXPECT_GT(alerts.Number("reviewed_at", row), alerts.Number("alerted_at", row));
    const auto decision = static_cast<AlertDecision>(alerts.Number("decision", row));
    ++counts[{frauds[alerts.Text("transaction_id", row)],
              decision == AlertDecision::kConfirmedFraud}];
  }
  EXPECT_GT(unseen, 10);
  EXPECT_EQ(counts.size(), 4u);
  EXPECT_GT((counts[{true, true}]), (2 * counts[{true, false}]));
  EXPECT_GT((counts[{false, false}]), (10 * counts[{false, true}]));
}

}  // namespace review_test
}  // namespace reveza::fraudgen::coherent
