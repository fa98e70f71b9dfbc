#include "reveza/jobs/decide/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <random>

namespace reveza::jobs {
namespace estimate_test {

using std::chrono::nanoseconds;
using std::chrono::seconds;

nanoseconds Of(double value) { return nanoseconds(std::llround(value * 1e9)); }
double InSeconds(nanoseconds value) { return std::chrono::duration<double>(value).count(); }

std::vector<TimedStep> Steps(int count, const std::function<double(int)>& duration) {
  std::vector<TimedStep> steps;
  for (int i = 0; i < count; ++i) steps.push_back({static_cast<double>(i), duration(i)});
  return steps;
}

TEST(FindTrend, SteadyStepsHaveNoDrift) {
  EXPECT_FALSE(FindTrend(Steps(100, [](int) { return 2.0; })).drift);
  EXPECT_FALSE(FindTrend({}).drift);
  int found = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::lognormal_distribution<double> noise(0, 0.5);
    const Trend trend = FindTrend(Steps(100, [&](int) { return noise(random); }));
    found += trend.drift || trend.first > 0 ? 1 : 0;
  }
  EXPECT_LE(found, 1);
}

TEST(FindTrend, DetectsGrowth) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.5);
  const Trend trend = FindTrend(Steps(100, [&](int i) { return 3.5 + 0.06 * i + noise(random); }));
  ASSERT_TRUE(trend.drift.has_value());
  EXPECT_NEAR(trend.drift->slope, 0.06, 4 * trend.drift->error);
  EXPECT_LT(trend.drift->error, 0.005);
  EXPECT_NEAR(trend.drift->At(200), 15.5, 1);
  EXPECT_EQ(trend.first, 0);
  const Trend shrinks = FindTrend(Steps(40, [](int i) { return 9 - 0.1 * i; }));
  ASSERT_TRUE(shrinks.drift.has_value());
  EXPECT_NEAR(shrinks.drift->slope, -0.1, 1e-9);
}

TEST(FindTrend, LevelShiftIsNotDrift) {
  std::mt19937 random(4);
  std::normal_distribution<double> noise(0, 0.1);
  const Trend trend =
      FindTrend(Steps(100, [&](int i) { return (i < 60 ? 2 : 4) + noise(random); }));
  EXPECT_FALSE(trend.drift.has_value());
  EXPECT_EQ(trend.first, 60);
}

TEST(FindTrend, DetectsGrowthAfterLevelShift) {
  const Trend trend = FindTrend(Steps(200, [](int i) { return i < 100 ? 1 : 30 + 0.05 * i; }));
  ASSERT_TRUE(trend.drift.has_value());
  EXPECT_NEAR(trend.drift->slope, 0.05, 1e-6);
  EXPECT_EQ(trend.first, 100);
}

TEST(FindTrend, NeedsTwelveSteps) {
  EXPECT_FALSE(FindTrend(Steps(11, [](int i) { return 1.0 + i; })).drift);
  EXPECT_TRUE(FindTrend(Steps(12, [](int i) { return 1.0 + i; })).drift);
  // Identical indices: no regression line exists.
  std::vector<TimedStep> same(20, TimedStep{5, 1});
  same[3].seconds = 2;
  EXPECT_FALSE(FindTrend(same).drift);
}

std::optional<RemainingTime> Remaining(const Estimator& estimator, std::vector<PendingWork> left,
                                       std::vector<InFlight> running, unsigned workers) {
  const PendingGroup group{0, workers, std::move(left), std::move(running)};
  return estimator.Remaining({&group, 1});
}

TEST(Estimator, NeedsThreeSteps) {
  Estimator estimator;
  const PendingWork left{.steps = 10};
  EXPECT_EQ(Remaining(estimator, {left}, {}, 1), std::nullopt);
  for (int i = 0; i < 2; ++i) estimator.OnStepFinished(i, seconds(2), 1);
  EXPECT_EQ(Remaining(estimator, {left}, {}, 1), std::nullopt);
  estimator.OnStepFinished(2, seconds(2), 1);
  EXPECT_EQ(Remaining(estimator, {left}, {}, 1), (RemainingTime{seconds(20), seconds(20)}));
  EXPECT_EQ(Remaining(estimator, {left}, {}, 4), (RemainingTime{seconds(6), seconds(6)}));
  EXPECT_EQ(Remaining(estimator, {}, {}, 4), (RemainingTime{seconds(0), seconds(0)}));
  EXPECT_EQ(estimator.MainDrift().has_value(), false);
}

TEST(Estimator, ConditionsOnElapsedTime) {
  Estimator estimator;
  for (int i = 0; i < 20; ++i) estimator.OnStepFinished(i, seconds(10), 2);
  const std::vector<InFlight> running = {{0, seconds(4)}, {0, seconds(9)}};
  EXPECT_EQ(Remaining(estimator, {}, running, 2), (RemainingTime{seconds(6), seconds(6)}));
  const PendingWork left{.steps = 1};
  EXPECT_EQ(Remaining(estimator, {left}, running, 2)->p50, seconds(11));
  // A step that runs longer than any sample.
  const std::vector<InFlight> late = {{0, seconds(100)}};
  EXPECT_EQ(Remaining(estimator, {}, late, 2)->p50, seconds(10));
}

TEST(Estimator, SumsClasses) {
  Estimator estimator;
  for (int i = 0; i < 20; ++i) estimator.OnStepFinished(i, seconds(1), 1, 1);
  for (int i = 0; i < 20; ++i) estimator.OnStepFinished(i, seconds(100), 1, 2);
  const std::vector<PendingWork> left = {{1, 10}, {2, 3}};
  EXPECT_EQ(Remaining(estimator, left, {}, 1)->p50, seconds(310));
  // An unknown class behaves like the others.
  const PendingWork unknown{.step_class = 9, .steps = 100};
  const auto remaining = Remaining(estimator, {unknown}, {}, 1);
  EXPECT_NEAR(InSeconds(remaining->p50), 5050, 1000);
  EXPECT_GT(remaining->p90, remaining->p50);
}

TEST(Estimator, PhasesAreSequentialLanesConcurrent) {
  Estimator estimator;
  for (int i = 0; i < 20; ++i) {
    estimator.OnStepFinished(static_cast<std::uint64_t>(i), seconds(10), 4, 1);
    estimator.OnStepFinished(static_cast<std::uint64_t>(i), seconds(10), 4, 2);
  }
  const auto p50 = [&](unsigned phase, bool of_its_own) {
    std::vector<PendingGroup> groups = {{0, 4, {{1, 1}}, {}}};
    if (of_its_own) {
      groups.push_back({phase, 1, {{2, 3}}, {}});
    } else {
      groups[0].left.push_back({2, 3});
    }
    return InSeconds(estimator.Remaining(groups)->p50);
  };
  EXPECT_NEAR(p50(0, false), 10, 1);  // four steps, four workers
  EXPECT_NEAR(p50(0, true), 30, 1);   // three for one worker, concurrently
  EXPECT_NEAR(p50(1, true), 40, 1);   // sequentially
}

TEST(Estimator, PrefersSamplesWithSameWorkers) {
  Estimator estimator;
  for (int i = 0; i < 50; ++i) estimator.OnStepFinished(i, seconds(1), 1);
  for (int i = 50; i < 80; ++i) estimator.OnStepFinished(i, seconds(3), 4);
  const PendingWork left{.steps = 40};
  EXPECT_EQ(Remaining(estimator, {left}, {}, 4)->p50, seconds(30));
  EXPECT_EQ(Remaining(estimator, {left}, {}, 1)->p50, seconds(40));
}

TEST(Estimator, ExtrapolatesDrift) {
  Estimator estimator;
  for (int i = 0; i < 100; ++i) estimator.OnStepFinished(i, Of(3.5 + 0.06 * i), 1);
  ASSERT_TRUE(estimator.MainDrift().has_value());
  EXPECT_NEAR(estimator.MainDrift()->slope, 0.06, 1e-6);
  double sum = 0;
  for (int i = 100; i < 500; ++i) sum += 3.5 + 0.06 * i;
  const PendingWork left{.steps = 400};
  EXPECT_NEAR(InSeconds(Remaining(estimator, {left}, {}, 1)->p50), sum, 0.02 * sum);
}

TEST(Estimator, ShrinkingStepsStayPositive) {
  Estimator estimator;
  for (int i = 0; i < 100; ++i) estimator.OnStepFinished(i, Of(10 - 0.05 * i), 1);
  const PendingWork left{.steps = 1000};
  const auto remaining = Remaining(estimator, {left}, {}, 1);
  EXPECT_GT(remaining->p50, seconds(1000));
}

TEST(Estimator, IgnoresStepsBeforeLevelShift) {
  Estimator estimator;
  for (int i = 0; i < 100; ++i) estimator.OnStepFinished(i, seconds(i < 50 ? 20 : 1), 1);
  const PendingWork left{.steps = 60};
  EXPECT_EQ(Remaining(estimator, {left}, {}, 1)->p50, seconds(60));
}

TEST(Estimator, KeepsOnlyRecentSteps) {
  Estimator estimator;
  for (int i = 0; i < 100000; ++i) estimator.OnStepFinished(i, seconds(i < 90000 ? 5 : 1), 1);
  const PendingWork left{.steps = 60};
  EXPECT_EQ(Remaining(estimator, {left}, {}, 1)->p50, seconds(60));
}

TEST(Estimator, PercentilesAreCalibrated) {
  // Counts how often the actual time is below P50 and P90, over many jobs with noisy steps.
  constexpr int kJobs = 300;
  constexpr unsigned kWorkers = 3;
  int below_median = 0;
  int below_long = 0;
  for (unsigned job = 0; job < kJobs; ++job) {
    std::mt19937 random(job + 1);
    std::lognormal_distribution<double> noise(0, 0.5);
    Estimator estimator;
    for (int i = 0; i < 40; ++i) estimator.OnStepFinished(i, Of(noise(random)), kWorkers);
    const PendingWork left{.steps = 60};
    const auto remaining = Remaining(estimator, {left}, {}, kWorkers);
    std::priority_queue<double, std::vector<double>, std::greater<>> free;
    for (unsigned i = 0; i < kWorkers; ++i) free.push(0);
    double end = 0;
    for (int i = 0; i < 60; ++i) {
      const double done = free.top() + noise(random);
      free.pop();
      free.push(done);
      end = std::max(end, done);
    }
    below_median += end <= InSeconds(remaining->p50) ? 1 : 0;
    below_long += end <= InSeconds(remaining->p90) ? 1 : 0;
  }
  EXPECT_NEAR(below_median, 0.5 * kJobs, 0.12 * kJobs);
  EXPECT_NEAR(below_long, 0.9 * kJobs, 0.08 * kJobs);
}

TEST(Estimator, WidensOnFluctuatingMachine) {
  const PendingWork left{.steps = 200};
  const auto width = [&](int period) {
    Estimator estimator;
    for (int i = 0; i < 240; ++i) estimator.OnStepFinished(i, Of(i / period % 2 == 0 ? 1 : 2), 1);
    const auto remaining = Remaining(estimator, {left}, {}, 1);
    return InSeconds(remaining->p90 - remaining->p50);
  };
  EXPECT_GT(width(30), 5 * width(1));
}

TEST(Estimator, IsFastForManySteps) {
  Estimator estimator;
  for (int i = 0; i < 100; ++i) estimator.OnStepFinished(i, Of(1 + 0.1 * (i % 3)), 64);
  const PendingWork left{.steps = 100000000000};
  const auto remaining = Remaining(estimator, {left}, {}, 64);
  EXPECT_NEAR(InSeconds(remaining->p50) / (1.1e11 / 64), 1, 0.05);
}

}  // namespace estimate_test
}  // namespace reveza::jobs
