// The tuner on simulated machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "reveza/jobs/decide/testing_machine.h"
#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs {
namespace tuner_simulation_test {

using std::chrono::nanoseconds;
using testing::Best;
using testing::Lognormal;
using testing::Machine;
using testing::Scalability;
using testing::Simulation;
using testing::SimulationResult;

std::string LogText(const Tuner& tuner) {
  std::string text;
  for (const Decision& decision : tuner.log()) {
    text += std::to_string(static_cast<double>(decision.at.count()) / 1e9) + " " +
            std::to_string(decision.before) + "->" + std::to_string(decision.after) + " " +
            decision.text + "\n";
  }
  return text;
}

struct Expectation {
  unsigned first = 1;
  unsigned max = 8;
  std::uint64_t steps = 2000;
  std::uint64_t settled_after = 1000;  // maximum
  unsigned seeds = 30;
  unsigned max_misses = 0;  // of all seeds
};

// Whether `workers` is within one of the best, or less than 5 % slower.
void ExpectFound(const Machine& machine, const Expectation& expected) {
  const unsigned best = Best(machine.speed, expected.max);
  unsigned missed = 0;
  for (unsigned seed = 1; seed <= expected.seeds; ++seed) {
    Tuner tuner({.initial = expected.first, .max = expected.max, .seed = seed});
    const SimulationResult ended = Simulation(machine, tuner, seed * 7919).Run(expected.steps);
    EXPECT_LE(*ended.used.rbegin(), expected.max);
    const bool near = std::abs(static_cast<int>(ended.workers) - static_cast<int>(best)) <= 1;
    const bool good = machine.speed(ended.workers) >= 0.95 * machine.speed(best);
    const bool soon = ended.settled_after > 0 && ended.settled_after <= expected.settled_after;
    if ((near || good) && soon) continue;
    if (++missed <= expected.max_misses) continue;
    ADD_FAILURE() << "seed " << seed << ": " << ended.workers << " workers, " << best
                  << " are best; settled after " << ended.settled_after << " steps\n"
                  << LogText(tuner);
    return;
  }
}

TEST(TunerSimulation, FindsPeakAtThree) {
  Machine machine{.speed = Scalability(0.1, 0.1)};
  ASSERT_EQ(Best(machine.speed, 8), 3);
  ExpectFound(machine, {.settled_after = 300});
  machine.step = Lognormal(0.2);
  ExpectFound(machine, {.max_misses = 1});
}

TEST(TunerSimulation, ClimbsWithoutPeak) {
  Machine machine{.speed = Scalability(0.02, 0)};
  ExpectFound(machine, {.max = 16, .settled_after = 300});
  machine.step = Lognormal(0.2);
  ExpectFound(machine, {.max = 16, .steps = 4000, .settled_after = 2000, .max_misses = 1});
}

TEST(TunerSimulation, StaysLowWithoutScaling) {
  const Machine machine{.speed = [](double) { return 1.0; }, .step = Lognormal(0.1)};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.initial = 1, .max = 8, .seed = seed});
    const SimulationResult ended = Simulation(machine, tuner, seed).Run(1500);
    EXPECT_LE(ended.workers, 2) << LogText(tuner);
  }
}

TEST(TunerSimulation, KeepsTwoWorkersForFortyPercent) {
  Machine machine{.speed = [](double n) { return n <= 1 ? 1 : 1.4 - 0.02 * (n - 2); }};
  ExpectFound(machine, {.settled_after = 150});
  machine.step = Lognormal(0.3);
  ExpectFound(machine, {});
}

TEST(TunerSimulation, FindsBestOnManyCores) {
  const Machine machine{.speed = [](double n) { return std::min(n, 32.0); },
                        .step = Lognormal(0.1)};
  ExpectFound(machine, {.max = 64, .steps = 6000, .settled_after = 3000, .seeds = 10});
}

TEST(TunerSimulation, FindsPeakAtTen) {
  const Machine machine{.speed = Scalability(0.02, 0.0098), .step = Lognormal(0.2)};
  ASSERT_EQ(Best(machine.speed, 32), 10);
  ExpectFound(machine, {.max = 32, .steps = 3000, .settled_after = 2000, .max_misses = 2});
}

TEST(TunerSimulation, ToleratesFluctuatingMachine) {
  std::vector<double> factors;
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    factors.push_back(std::lognormal_distribution<double>(0, 0.2)(random));
  }
  const Machine machine{.speed = Scalability(0.1, 0.1), .weather = [&](double now) {
                          return factors[static_cast<std::size_t>(now) % factors.size()];
                        }};
  ExpectFound(machine, {.steps = 3000, .settled_after = 1500, .max_misses = 2});
}

TEST(TunerSimulation, ToleratesGrowingSteps) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = [](std::uint64_t index, auto&) {
                          return 3.5 + 0.06 * static_cast<double>(index);
                        }};
  ExpectFound(machine, {.steps = 800, .settled_after = 500});
}

TEST(TunerSimulation, ToleratesShrinkingSteps) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = [](std::uint64_t index, auto&) {
                          return 60 - 0.05 * static_cast<double>(index);
                        }};
  ExpectFound(machine, {.steps = 800, .settled_after = 500});
}

TEST(TunerSimulation, ToleratesHeavyTails) {
  const Machine machine{.speed = Scalability(0.1, 0.1),
                        .step = [](std::uint64_t, std::mt19937_64& random) {
                          std::uniform_real_distribution<double> uniform(1e-4, 1);
                          return std::pow(uniform(random), -1 / 1.5);
                        }};
  ExpectFound(machine, {.steps = 4000, .settled_after = 3000, .max_misses = 3});
}

TEST(TunerSimulation, ToleratesVeryLongSteps) {
  const Machine machine{.speed = Scalability(0.05, 0.02), .step = Lognormal(0.05, 3600)};
  ExpectFound(machine, {.steps = 200, .settled_after = 185});
}

TEST(TunerSimulation, ToleratesVeryShortSteps) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = Lognormal(0.3, 1e-3)};
  ExpectFound(machine, {.steps = 30000, .settled_after = 20000, .seeds = 5});
}

TEST(TunerSimulation, NormalisesClasses) {
  // Small steps, then a mixture, then large ones.
  const auto kind = [](std::uint64_t index) -> WorkClass {
    return index < 300 ? 0 : index < 900 ? index % 2 : 1;
  };
  const Machine machine{.speed = Scalability(0.1, 0.1),
                        .step =
                            [kind](std::uint64_t index, std::mt19937_64& random) {
                              return (kind(index) == 0 ? 1 : 20) *
                                     std::lognormal_distribution<double>(0, 0.1)(random);
                            },
                        .step_class = kind};
  ExpectFound(machine, {.settled_after = 600, .max_misses = 1});
}

TEST(TunerSimulation, RestartsSearchWhenMachineChanges) {
  bool busy = false;
  const Machine machine{
      .speed = [&](double n) { return std::min(n, busy ? 2.0 : 6.0) / (1 + 0.02 * n); },
      .step =
          [&](std::uint64_t index, std::mt19937_64& random) {
            busy = index > 1500;
            return std::lognormal_distribution<double>(0, 0.05)(random);
          }};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.initial = 1, .max = 8, .seed = seed});
    const SimulationResult ended = Simulation(machine, tuner, seed).Run(3000);
    EXPECT_TRUE(ended.used.contains(6) || ended.used.contains(7)) << LogText(tuner);
    EXPECT_LE(ended.workers, 4) << LogText(tuner);
  }
}

// Coefficients of variation of 100 % and 200 %; bench/tuner_noise.cc covers more.
TEST(TunerSimulation, FindsMostOptimaWithNoisySteps) {
  for (const double noise : {1.0, 2.0}) {
    const Machine machine{.speed = [](double n) { return std::min(n, 16.0) / (1 + 0.002 * n); },
                          .step = Lognormal(std::sqrt(std::log(1 + noise * noise)))};
    unsigned right = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
      Tuner tuner({.initial = InitialWorkers(16), .max = 32, .seed = seed});
      const SimulationResult ended = Simulation(machine, tuner, seed * 7919).Run(500);
      if (machine.speed(ended.workers) > 0.9 * machine.speed(16)) ++right;
    }
    EXPECT_GE(right, 36) << noise;
  }
}

TEST(TunerSimulation, SearchIsCheap) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = Lognormal(0.2)};
  double share = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.initial = 1, .max = 8, .seed = seed});
    const double seconds = Simulation(machine, tuner, seed).Run(500).seconds;
    share += 500 * std::exp(0.2 * 0.2 / 2) / machine.speed(3) / seconds / 20;
  }
  EXPECT_GT(share, 0.9);
}

TEST(TunerSimulation, StaysBelowOomNumber) {
  const Machine machine{
      .speed = [](double n) { return n; }, .step = Lognormal(0.1), .max_running = 5};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.initial = 1, .max = 16, .seed = seed});
    const SimulationResult ended = Simulation(machine, tuner, seed).Run(3000);
    EXPECT_GE(ended.workers, 4) << LogText(tuner);
    EXPECT_LE(ended.hard, 16) << LogText(tuner);
  }
}

}  // namespace tuner_simulation_test
}  // namespace reveza::jobs
