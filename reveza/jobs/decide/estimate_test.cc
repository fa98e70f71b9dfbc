#include "reveza/jobs/decide/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "reveza/jobs/decide/testing_world.h"

namespace reveza::jobs {
namespace estimate_test {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::World;

nanoseconds Of(double value) { return nanoseconds(std::llround(value * 1e9)); }
double InSeconds(nanoseconds value) { return std::chrono::duration<double>(value).count(); }

std::optional<RemainingTime> Remaining(const Estimator& estimator, std::vector<PendingWork> left,
                                       std::vector<InFlight> running, unsigned workers) {
  const PendingGroup group{0, workers, std::move(left), std::move(running)};
  return estimator.Remaining({&group, 1});
}

// Asserts a median within a tenth.
void ExpectMedian(const std::optional<RemainingTime>& remaining, double expected) {
  ASSERT_TRUE(remaining);
  EXPECT_NEAR(InSeconds(remaining->p50), expected, 0.1 * expected);
  EXPECT_GE(remaining->p90, remaining->p50);
}

TEST(Estimator, NeedsThreeSteps) {
  Estimator estimator;
  const PendingWork left{.steps = 100};
  EXPECT_EQ(Remaining(estimator, {left}, {}, 1), std::nullopt);
  for (int i = 0; i < 2; ++i) estimator.OnStepFinished(seconds(2), 1);
  EXPECT_EQ(Remaining(estimator, {left}, {}, 1), std::nullopt);
  estimator.OnStepFinished(seconds(2), 1);
  ExpectMedian(Remaining(estimator, {left}, {}, 1), 200);
  EXPECT_EQ(Remaining(estimator, {}, {}, 4), (RemainingTime{seconds(0), seconds(0)}));
}

TEST(Estimator, UsesMeasuredRate) {
  Estimator estimator;
  for (int i = 0; i < 20; ++i) estimator.OnStepFinished(seconds(8), 4);
  const PendingWork left{.steps = 100};
  ExpectMedian(Remaining(estimator, {left}, {}, 4), 200);
  // More workers are no promise of a higher rate.
  ExpectMedian(Remaining(estimator, {left}, {}, 8), 200);
}

TEST(Estimator, ConditionsOnElapsedTime) {
  Estimator estimator;
  for (int i = 0; i < 20; ++i) estimator.OnStepFinished(seconds(10), 2);
  const std::vector<InFlight> running = {{0, seconds(4)}, {0, seconds(9)}};
  EXPECT_NEAR(InSeconds(Remaining(estimator, {}, running, 2)->p50), 6, 0.5);
  // A step that runs longer than any sample.
  const std::vector<InFlight> late = {{0, seconds(100)}};
  EXPECT_GT(Remaining(estimator, {}, late, 2)->p50, seconds(5));
}

TEST(Estimator, ShortStepsFinishFirst) {
  // Of ten that began together three have ended: the others are longer.
  Estimator estimator;
  for (int i = 0; i < 3; ++i) estimator.OnStepFinished(Of(1 + 0.1 * i), 10);
  const PendingWork left{.steps = 100};
  const double alone = InSeconds(Remaining(estimator, {left}, {}, 10)->p50);
  const std::vector<InFlight> longer(7, {0, Of(1.2)});
  EXPECT_GT(InSeconds(Remaining(estimator, {left}, longer, 10)->p50), 1.2 * alone);
}

TEST(Estimator, SumsClasses) {
  Estimator estimator;
  for (int i = 0; i < 20; ++i) estimator.OnStepFinished(seconds(1), 1, 1);
  for (int i = 0; i < 20; ++i) estimator.OnStepFinished(seconds(100), 1, 2);
  ExpectMedian(Remaining(estimator, {{1, 1000}, {2, 30}}, {}, 1), 4000);
  // An unknown class behaves like the others.
  const auto unknown = Remaining(estimator, {{.step_class = 9, .steps = 100}}, {}, 1);
  EXPECT_GT(unknown->p50, seconds(1000));
  EXPECT_LT(unknown->p50, seconds(10000));
}

TEST(Estimator, PhasesAreSequentialLanesConcurrent) {
  Estimator estimator;
  for (int i = 0; i < 20; ++i) {
    estimator.OnStepFinished(seconds(10), 1, 1);
    estimator.OnStepFinished(seconds(10), 1, 2);
  }
  const auto p50 = [&](unsigned phase) {
    const std::vector<PendingGroup> groups = {{0, 1, {{1, 50}}, {}}, {phase, 1, {{2, 50}}, {}}};
    return estimator.Remaining(groups);
  };
  ExpectMedian(p50(0), 500);
  ExpectMedian(p50(1), 1000);
}

TEST(Estimator, KeepsOnlyRecentSteps) {
  Estimator estimator;
  for (int i = 0; i < 100000; ++i) estimator.OnStepFinished(seconds(i < 90000 ? 5 : 1), 1);
  ExpectMedian(Remaining(estimator, {{.steps = 60}}, {}, 1), 60);
}

TEST(Estimator, IsFastForManySteps) {
  Estimator estimator;
  for (int i = 0; i < 100; ++i) estimator.OnStepFinished(Of(1 + 0.1 * (i % 3)), 64);
  ExpectMedian(Remaining(estimator, {{.steps = 100000000000}}, {}, 64), 1.1e11 / 64);
}

// Returns the share of a job's time in which the last printed 90th percentile was enough.
double ShareOfRightPrints(const testing::Workload& workload, std::uint64_t steps,
                          std::uint64_t seed) {
  struct Print {
    double at = 0;
    double p90 = 0;
  };
  std::vector<Print> prints;
  Tuner tuner = testing::MakeTuner(workload);
  World world(workload, steps, seed);
  Estimator estimator;
  world.on_event = [&](const World::Ended& ended) {
    const unsigned workers = std::min(tuner.workers(), world.running() + 1);
    estimator.OnStepFinished(Of(ended.seconds), workers, ended.step_class);
    if (!prints.empty() && world.now() < prints.back().at * 1.01 + 0.25) return;
    const auto group = world.Pending(std::min(tuner.workers(), workload.room));
    const auto remaining = estimator.Remaining({&group, 1});
    if (remaining) prints.push_back({world.now(), InSeconds(remaining->p90)});
  };
  const double end = world.Run(tuner);
  double right = 0;
  for (std::size_t i = 0; i < prints.size(); ++i) {
    const double until = i + 1 < prints.size() ? prints[i + 1].at : end;
    if (prints[i].at + prints[i].p90 >= end) right += until - prints[i].at;
  }
  return prints.empty() ? 1 : right / (end - prints.front().at);
}

TEST(Estimator, P90IsRightInNinetyPercentOfPrints) {
  constexpr unsigned kSeeds = 20;
  for (const std::uint64_t steps : {100, 500}) {
    double all = 0;
    for (const auto name : testing::WorkloadNames()) {
      double right = 0;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        right += ShareOfRightPrints(testing::MakeWorkload(name, seed), steps, seed) / kSeeds;
      }
      all += right / static_cast<double>(testing::WorkloadNames().size());
      // Steps that grow are not foreseen, nor how long the longest are after a few.
      const bool hard = name == "drifting" || name == "lognormal";
      EXPECT_GE(right, hard ? 0.6 : 0.85) << name << ", " << steps;
    }
    EXPECT_GE(all, 0.9) << steps;
    EXPECT_LT(all, 1) << steps;
  }
}

}  // namespace estimate_test
}  // namespace reveza::jobs
