#include "runner/decide/throughput.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reveza::runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TypicalDurations, AreFixedAfterTheFirstSteps) {
  TypicalDurations typical;
  EXPECT_EQ(typical.Of(7), std::nullopt);
  EXPECT_EQ(typical.median(), std::nullopt);
  EXPECT_EQ(typical.mean(), 0);
  for (int i = 1; i <= 4; ++i) EXPECT_FALSE(typical.Add(7, i, 1, 1));
  EXPECT_TRUE(typical.Add(7, 5, 1, 1));  // now it is known
  EXPECT_EQ(typical.Of(7), 3);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(typical.Add(7, 1000, 1, 1));
  EXPECT_EQ(typical.Of(7), 3);
  EXPECT_EQ(typical.median(), seconds(1000));
  EXPECT_EQ(typical.Of(8), std::nullopt);
}

TEST(TypicalDurations, AreForAUnitOfWorkAndAnUndisturbedMachine) {
  TypicalDurations typical;
  typical.Add(1, 30, 10, 1);
  EXPECT_DOUBLE_EQ(*typical.Of(1), 3);
  typical.Add(2, 30, 1, 1.5);
  EXPECT_DOUBLE_EQ(*typical.Of(2), 20);
  EXPECT_DOUBLE_EQ(typical.mean(), (10 * 3 + 20) / 11.0);
}

TEST(TypicalDurations, BoundTheClassesAndTakeNoTimeAtAll) {
  TypicalDurations typical;
  for (WorkClass i = 0; i < 10000; ++i) typical.Add(i, 0, 1, 1);
  EXPECT_GT(*typical.Of(0), 0);
  EXPECT_EQ(typical.Of(9999), std::nullopt);
}

// `workers` of them work off steps of `each` seconds, evenly shifted, for `steps` steps.
Measurement Evenly(unsigned workers, double each, int steps, double typical) {
  Measurement measurement(seconds(0), workers, milliseconds(100));
  for (int i = 1; i <= steps; ++i) {
    const auto now = std::chrono::nanoseconds(std::llround(i * each / workers * 1e9));
    measurement.Finished(now, std::chrono::nanoseconds(std::llround(each * 1e9)), typical);
    measurement.Running(now, workers);
  }
  return measurement;
}

TEST(Measurement, SaysNothingBeforeTheThirdWindow) {
  EXPECT_EQ(Evenly(1, 1, 2, 1).Result(), std::nullopt);
  EXPECT_TRUE(Evenly(1, 1, 3, 1).Result().has_value());
  // Windows are not shorter than told: 0.1 s.
  EXPECT_EQ(Evenly(1, 0.001, 299, 1).Result(), std::nullopt);
  EXPECT_TRUE(Evenly(1, 0.001, 301, 1).Result().has_value());
}

TEST(Measurement, CountsAndKnowsLittlesLaw) {
  const auto seen = Evenly(4, 2, 400, 1).Result();
  EXPECT_EQ(seen->workers, 4);
  EXPECT_NEAR(std::exp(seen->counted.value), 2, 1e-6);
  EXPECT_NEAR(std::exp(seen->little.value), 2, 1e-6);
  EXPECT_NEAR(seen->rate, 2, 1e-6);
  EXPECT_NEAR(seen->slowdown, 2, 1e-6);
  EXPECT_LT(seen->counted.error, 0.01);
  EXPECT_LT(seen->little.error, 0.01);
}

TEST(Measurement, IsLessSureAfterFewSteps) {
  const auto few = Evenly(4, 2, 8, 2).Result();
  const auto many = Evenly(4, 2, 400, 2).Result();
  EXPECT_GT(few->counted.error, 4 * many->counted.error);
  EXPECT_GT(few->little.error, 4 * many->little.error);
}

TEST(Measurement, SeesWhenTheWindowsDiffer) {
  Measurement measurement(seconds(0), 1, milliseconds(100));
  std::chrono::nanoseconds now{0};
  for (int i = 0; i < 30; ++i) {
    const auto each = milliseconds(i < 15 ? 500 : 1500);
    measurement.Running(now, 1);
    now += each;
    measurement.Finished(now, each, 1);
  }
  EXPECT_GT(measurement.Result()->counted.error, 0.05);
}

TEST(Measurement, KnowsWhetherAllWorkersEverHadWork) {
  Measurement measurement(seconds(0), 3, milliseconds(100));
  measurement.Running(seconds(0), 2);
  EXPECT_FALSE(measurement.filled());
  measurement.Running(seconds(1), 3);
  measurement.Running(seconds(2), 1);
  EXPECT_TRUE(measurement.filled());
}

TEST(Measurement, CountsWorkersThatWaitForWorkAsNone) {
  // One step of a second, then a second without.
  Measurement measurement(seconds(0), 1, milliseconds(100));
  for (int i = 0; i < 20; ++i) {
    measurement.Running(seconds(2 * i), 1);
    measurement.Finished(seconds(2 * i + 1), seconds(1), 1);
  }
  EXPECT_NEAR(std::exp(measurement.Result()->little.value), 0.5, 0.02);
}

TEST(GainBetween, IsTheShareByWhichOneIsBetterAndIsUnsureAsBoth) {
  const auto slow = Evenly(1, 1, 400, 1).Result();
  const auto fast = Evenly(2, 1, 400, 1).Result();
  const LogRate gain = GainBetween(*slow, *fast);
  EXPECT_NEAR(gain.value, std::log(2), 0.01);
  EXPECT_GE(gain.error, std::max(slow->counted.error, fast->counted.error) * 0.99);
  const LogRate loss = GainBetween(*fast, *slow);
  EXPECT_DOUBLE_EQ(loss.value, -gain.value);
}

}  // namespace
}  // namespace reveza::runner
