#include "reveza/jobs/decide/throughput.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reveza::jobs {
namespace throughput_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TypicalDurations, BecomeFinalAfterFirstSteps) {
  TypicalDurations typical;
  EXPECT_EQ(typical.Typical(7), std::nullopt);
  EXPECT_EQ(typical.median(), std::nullopt);
  EXPECT_EQ(typical.mean(), 0);
  EXPECT_FALSE(typical.Add(6, 9, 1)) << "a unit, as long as it is the only class";
  EXPECT_FALSE(typical.Add(6, 1, 1));
  EXPECT_EQ(typical.Typical(6), 9);
  for (int i = 1; i <= 4; ++i) EXPECT_FALSE(typical.Add(7, i, 1));
  EXPECT_TRUE(typical.Add(7, 5, 1));  // final now
  EXPECT_EQ(typical.Typical(7), 3);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(typical.Add(7, 1000, 1));
  EXPECT_EQ(typical.Typical(7), 3);
  EXPECT_EQ(typical.median(), seconds(1000));
  EXPECT_EQ(typical.Typical(8), std::nullopt);
}

TEST(TypicalDurations, NormaliseBySlowdown) {
  TypicalDurations typical;
  typical.Add(1, 3, 1);
  EXPECT_DOUBLE_EQ(*typical.Typical(1), 3);
  typical.Add(2, 30, 1.5);
  EXPECT_DOUBLE_EQ(*typical.Typical(2), 20);
  EXPECT_DOUBLE_EQ(typical.mean(), (3 + 20) / 2.0);
}

TEST(TypicalDurations, BoundClassesAndAcceptZeroDurations) {
  TypicalDurations typical;
  for (WorkClass i = 0; i < 10000; ++i) typical.Add(i, 0, 1);
  EXPECT_GT(*typical.Typical(0), 0);
  EXPECT_EQ(typical.Typical(9999), std::nullopt);
}

// Runs `steps` steps of `each` seconds on `workers` workers, evenly staggered.
Measurement Evenly(unsigned workers, double each, int steps, double typical) {
  Measurement measurement(seconds(0), workers);
  for (int i = 1; i <= steps; ++i) {
    const auto now = std::chrono::nanoseconds(std::llround(i * each / workers * 1e9));
    measurement.OnStepFinished(now, std::chrono::nanoseconds(std::llround(each * 1e9)),
                               std::chrono::nanoseconds(0), typical);
    measurement.SetRunning(now, workers);
  }
  return measurement;
}

TEST(Measurement, NeedsThreeWindows) {
  EXPECT_EQ(Evenly(1, 1, 2, 1).Result(), std::nullopt);
  EXPECT_TRUE(Evenly(1, 1, 3, 1).Result().has_value());
  // Windows last at least 0.1 s.
  EXPECT_EQ(Evenly(1, 0.001, 299, 1).Result(), std::nullopt);
  EXPECT_TRUE(Evenly(1, 0.001, 301, 1).Result().has_value());
}

TEST(Measurement, CountsAndAppliesLittlesLaw) {
  const auto seen = Evenly(4, 2, 400, 1).Result();
  EXPECT_EQ(seen->workers, 4);
  EXPECT_NEAR(std::exp(seen->counted.value), 2, 1e-6);
  EXPECT_NEAR(std::exp(seen->little.value), 2, 1e-6);
  EXPECT_NEAR(seen->rate, 2, 1e-6);
  EXPECT_NEAR(seen->slowdown, 2, 1e-6);
  EXPECT_LT(seen->counted.error, 0.01);
  EXPECT_LT(seen->little.error, 0.01);
}

TEST(Measurement, FewStepsHaveLargerError) {
  const auto few = Evenly(4, 2, 8, 2).Result();
  const auto many = Evenly(4, 2, 400, 2).Result();
  EXPECT_GT(few->counted.error, 4 * many->counted.error);
  EXPECT_GT(few->little.error, 4 * many->little.error);
}

TEST(Measurement, WindowSpreadRaisesError) {
  Measurement measurement(seconds(0), 1);
  std::chrono::nanoseconds now{0};
  for (int i = 0; i < 30; ++i) {
    const auto each = milliseconds(i < 15 ? 500 : 1500);
    measurement.SetRunning(now, 1);
    now += each;
    measurement.OnStepFinished(now, each, each / 2, 1);
  }
  EXPECT_GT(measurement.Result()->counted.error, 0.05);
}

TEST(Measurement, SaturatedOnceAllWorkersWereBusy) {
  Measurement measurement(seconds(0), 3);
  measurement.SetRunning(seconds(0), 2);
  EXPECT_FALSE(measurement.saturated());
  measurement.SetRunning(seconds(1), 3);
  measurement.SetRunning(seconds(2), 1);
  EXPECT_TRUE(measurement.saturated());
}

TEST(Measurement, IdleWorkersDoNotCount) {
  // One second busy, one second idle.
  Measurement measurement(seconds(0), 1);
  for (int i = 0; i < 20; ++i) {
    measurement.SetRunning(seconds(2 * i), 1);
    measurement.OnStepFinished(seconds(2 * i + 1), seconds(1), milliseconds(200), 1);
  }
  EXPECT_NEAR(std::exp(measurement.Result()->little.value), 0.5, 0.02);
  EXPECT_NEAR(measurement.Result()->busy, 0.1, 0.01);
}

TEST(GainBetween, IsRelativeWithCombinedError) {
  const auto slow = Evenly(1, 1, 400, 1).Result();
  const auto fast = Evenly(2, 1, 400, 1).Result();
  const LogRate gain = GainBetween(*slow, *fast);
  EXPECT_NEAR(gain.value, std::log(2), 0.01);
  EXPECT_GE(gain.error, std::max(slow->counted.error, fast->counted.error) * 0.99);
  const LogRate loss = GainBetween(*fast, *slow);
  EXPECT_DOUBLE_EQ(loss.value, -gain.value);
}

TEST(FormatRate, ChoosesTheUnit) {
  EXPECT_EQ(FormatRate(1234.4), "1234 steps/s");
  EXPECT_EQ(FormatRate(59.17), "59.2 steps/s");
  EXPECT_EQ(FormatRate(5.917), "5.9 steps/s");
  EXPECT_EQ(FormatRate(1), "1 steps/s");
  EXPECT_EQ(FormatRate(0.2), "12 steps/min");
  EXPECT_EQ(FormatRate(0.00086), "3.1 steps/h");
  EXPECT_EQ(FormatRate(0), "0 steps/h");
}

}  // namespace throughput_test
}  // namespace reveza::jobs
