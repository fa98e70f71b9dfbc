// The tuner in simulated jobs, in virtual time: how much longer they take than with the best fixed
// number of workers. bench/tuner_regret.cc prints the figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "reveza/jobs/decide/testing_world.h"
#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs {
namespace tuner_simulation_test {

using testing::MakeTuner;
using testing::MakeWorkload;
using testing::Phase;
using testing::Workload;
using testing::World;
using testing::WorldStep;

constexpr unsigned kSeeds = 20;

// `cores`, and `length` of a step in seconds: 0: drawn by the seed.
double MeanRegret(std::string_view name, std::uint64_t steps, unsigned cores = 0,
                  double length = 0) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Workload workload = MakeWorkload(name, seed, cores, length);
    Tuner tuner = MakeTuner(workload);
    const double seconds = World(workload, steps, seed).Run(tuner);
    sum += seconds / testing::FindBestFixed(workload, steps, seed).seconds - 1;
  }
  return sum / kSeeds;
}

class TunerRegret : public ::testing::TestWithParam<std::string> {};

TEST_P(TunerRegret, IsSmallOver100Steps) { EXPECT_LE(MeanRegret(GetParam(), 100), 0.10); }
TEST_P(TunerRegret, IsSmallerOver500Steps) { EXPECT_LE(MeanRegret(GetParam(), 500), 0.05); }

INSTANTIATE_TEST_SUITE_P(Workloads, TunerRegret,
                         ::testing::ValuesIn(std::vector<std::string>(
                             testing::WorkloadNames().begin(), testing::WorkloadNames().end())),
                         [](const auto& tested) { return tested.param; });

// Measures as often as steps end: a second is a tenth of such a job.
TEST(TunerSimulation, ShortStepsAreAsWellTuned) {
  for (const auto name : testing::WorkloadNames()) {
    EXPECT_LE(MeanRegret(name, 100, 2, 0.25), 0.11) << name;
  }
}

TEST(TunerSimulation, AFewStepsTellThatOneWorkerIsNoGood) {
  EXPECT_LE(MeanRegret("CPU", 100, 2, 0.25), 0.04);
}

TEST(TunerSimulation, NearlyFullCoresDoNotHideALock) {
  EXPECT_LE(MeanRegret("lock", 500, 2, 0.25), 0.04);
}

// Steps that compute all the time, on eight cores.
Workload Computing() {
  Workload workload = MakeWorkload("CPU", 1, 8);
  workload.step = [](auto, auto, std::mt19937_64& random) {
    return WorldStep{
        .phases = {{Phase::kCompute, std::lognormal_distribution<double>(0, 0.1)(random)}}};
  };
  return workload;
}

TEST(TunerSimulation, FillsTheCores) {
  const Workload workload = Computing();
  Tuner tuner = MakeTuner(workload);
  World(workload, 300, 1).Run(tuner);
  EXPECT_EQ(tuner.workers(), 8);
}

TEST(TunerSimulation, StaysBelowOomNumber) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Workload workload = Computing();
    workload.out_of_memory_above = 5;
    Tuner tuner = MakeTuner(workload);
    World world(workload, 3000, seed);
    world.Run(tuner);
    EXPECT_GE(tuner.workers(), 3);
    EXPECT_LE(world.out_of_memory(), 16);
  }
}

TEST(TunerSimulation, SearchesAgainWhenTheMachineChanges) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    bool crowded = false;
    Workload workload = Computing();
    const auto step = workload.step;
    workload.speed = [&](double n) {
      return crowded ? std::min(n, 8.0) / (1 + std::max(0.0, n - 2)) : std::min(n, 8.0);
    };
    Tuner tuner = MakeTuner(workload);
    World world(workload, 3000, seed);
    unsigned ended = 0;
    unsigned before = 0;
    world.on_event = [&](const World::Ended&) {
      if (++ended == 1500) {
        before = tuner.workers();
        crowded = true;
      }
    };
    world.Run(tuner);
    EXPECT_EQ(before, 8);
    EXPECT_LE(tuner.workers(), 4);
  }
}

TEST(TunerSimulation, StepsOfOtherLengthAreNoOtherThroughput) {
  // Small steps, then a mixture, then large ones.
  Workload workload = Computing();
  workload.step = [](std::uint64_t index, auto, std::mt19937_64& random) {
    const bool small = index < 300 || (index < 900 && index % 2 == 0);
    const double noise = std::lognormal_distribution<double>(0, 0.1)(random);
    return WorldStep{.phases = {{Phase::kCompute, (small ? 1 : 20) * noise}},
                     .step_class = small ? 0u : 1u};
  };
  unsigned found = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Tuner tuner = MakeTuner(workload);
    World(workload, 2000, seed).Run(tuner);
    if (tuner.workers() == 8) ++found;
  }
  EXPECT_GE(found, kSeeds - 1);
}

}  // namespace tuner_simulation_test
}  // namespace reveza::jobs
