// The tuner on simulated machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "runner/decide/testing_machine.h"
#include "runner/decide/tuner.h"

namespace reveza::runner {
namespace {

using std::chrono::nanoseconds;
using testing::Best;
using testing::Ended;
using testing::Lognormal;
using testing::Machine;
using testing::Scalability;
using testing::Simulation;

std::string LogText(const Tuner& tuner) {
  std::string text;
  for (const Decision& decision : tuner.log()) {
    text += std::to_string(static_cast<double>(decision.at.count()) / 1e9) + " " +
            std::to_string(decision.before) + "->" + std::to_string(decision.after) + " " +
            decision.sentence + "\n";
  }
  return text;
}

struct Expectation {
  unsigned first = 1;
  unsigned most = 8;
  std::uint64_t steps = 2000;
  std::uint64_t settled_after = 1000;  // at the latest
  unsigned seeds = 30;
  unsigned may_miss = 0;  // of the seeds
};

// Within one worker of the best, or less than 5 % below it.
void ExpectFound(const Machine& machine, const Expectation& expected) {
  const unsigned best = Best(machine.speed, expected.most);
  unsigned missed = 0;
  for (unsigned seed = 1; seed <= expected.seeds; ++seed) {
    Tuner tuner({.first = expected.first, .most = expected.most, .seed = seed});
    const Ended ended = Simulation(machine, tuner, seed * 7919).Run(expected.steps);
    EXPECT_LE(*ended.used.rbegin(), expected.most);
    const bool near = std::abs(static_cast<int>(ended.workers) - static_cast<int>(best)) <= 1;
    const bool good = machine.speed(ended.workers) >= 0.95 * machine.speed(best);
    const bool soon = ended.settled_after > 0 && ended.settled_after <= expected.settled_after;
    if ((near || good) && soon) continue;
    if (++missed <= expected.may_miss) continue;
    ADD_FAILURE() << "seed " << seed << ": " << ended.workers << " workers, " << best
                  << " are best; settled after " << ended.settled_after << " steps\n"
                  << LogText(tuner);
    return;
  }
}

TEST(TunerSimulation, FindsAPeakAtThree) {
  Machine machine{.speed = Scalability(0.1, 0.1)};
  ASSERT_EQ(Best(machine.speed, 8), 3);
  ExpectFound(machine, {.settled_after = 300});
  machine.step = Lognormal(0.2);
  ExpectFound(machine, {.may_miss = 1});
}

TEST(TunerSimulation, ClimbsWhereThereIsNoPeak) {
  Machine machine{.speed = Scalability(0.02, 0)};
  ExpectFound(machine, {.most = 16, .settled_after = 300});
  machine.step = Lognormal(0.2);
  ExpectFound(machine, {.most = 16, .steps = 4000, .settled_after = 2000, .may_miss = 1});
}

TEST(TunerSimulation, StaysLowWhereMoreWorkersBringNothing) {
  const Machine machine{.speed = [](double) { return 1.0; }, .step = Lognormal(0.1)};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.first = 1, .most = 8, .seed = seed});
    const Ended ended = Simulation(machine, tuner, seed).Run(1500);
    EXPECT_LE(ended.workers, 2) << LogText(tuner);
  }
}

TEST(TunerSimulation, SeesThatTwoCoresGiveOneAndFourTenths) {
  Machine machine{.speed = [](double n) { return n <= 1 ? 1 : 1.4 - 0.02 * (n - 2); }};
  ExpectFound(machine, {.settled_after = 150});
  machine.step = Lognormal(0.3);
  ExpectFound(machine, {});
}

TEST(TunerSimulation, FindsTheBestOfManyCores) {
  const Machine machine{.speed = [](double n) { return std::min(n, 32.0); },
                        .step = Lognormal(0.1)};
  ExpectFound(machine, {.most = 64, .steps = 6000, .settled_after = 3000, .seeds = 10});
}

TEST(TunerSimulation, FindsAPeakAtTenAmongMany) {
  const Machine machine{.speed = Scalability(0.02, 0.0098), .step = Lognormal(0.2)};
  ASSERT_EQ(Best(machine.speed, 32), 10);
  ExpectFound(machine, {.most = 32, .steps = 3000, .settled_after = 2000, .may_miss = 2});
}

TEST(TunerSimulation, IsNotMisledByAnUnsteadyMachine) {
  std::vector<double> factors;
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    factors.push_back(std::lognormal_distribution<double>(0, 0.2)(random));
  }
  const Machine machine{.speed = Scalability(0.1, 0.1), .weather = [&](double now) {
                          return factors[static_cast<std::size_t>(now) % factors.size()];
                        }};
  ExpectFound(machine, {.steps = 3000, .settled_after = 1500, .may_miss = 2});
}

TEST(TunerSimulation, IsNotMisledByStepsThatGrow) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = [](std::uint64_t index, auto&) {
                          return 3.5 + 0.06 * static_cast<double>(index);
                        }};
  ExpectFound(machine, {.steps = 800, .settled_after = 500});
}

TEST(TunerSimulation, IsNotMisledByStepsThatShrink) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = [](std::uint64_t index, auto&) {
                          return 60 - 0.05 * static_cast<double>(index);
                        }};
  ExpectFound(machine, {.steps = 800, .settled_after = 500});
}

TEST(TunerSimulation, CopesWithHeavyTails) {
  const Machine machine{.speed = Scalability(0.1, 0.1),
                        .step = [](std::uint64_t, std::mt19937_64& random) {
                          std::uniform_real_distribution<double> uniform(1e-4, 1);
                          return std::pow(uniform(random), -1 / 1.5);
                        }};
  ExpectFound(machine, {.steps = 4000, .settled_after = 3000, .may_miss = 3});
}

TEST(TunerSimulation, CopesWithVeryLongSteps) {
  const Machine machine{.speed = Scalability(0.05, 0.02), .step = Lognormal(0.05, 3600)};
  ExpectFound(machine, {.steps = 200, .settled_after = 185});
}

TEST(TunerSimulation, CopesWithVeryShortSteps) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = Lognormal(0.3, 1e-3)};
  ExpectFound(machine, {.steps = 30000, .settled_after = 20000, .seeds = 5});
}

TEST(TunerSimulation, ComparesStepsOfDifferentClasses) {
  // First small ones, then a mixture, then large ones.
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
  ExpectFound(machine, {.settled_after = 600, .may_miss = 1});
}

TEST(TunerSimulation, LooksAgainWhenTheMachineChanges) {
  bool busy = false;
  const Machine machine{
      .speed = [&](double n) { return std::min(n, busy ? 2.0 : 6.0) / (1 + 0.02 * n); },
      .step =
          [&](std::uint64_t index, std::mt19937_64& random) {
            busy = index > 1500;
            return std::lognormal_distribution<double>(0, 0.05)(random);
          }};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.first = 1, .most = 8, .seed = seed});
    const Ended ended = Simulation(machine, tuner, seed).Run(3000);
    EXPECT_TRUE(ended.used.contains(6) || ended.used.contains(7)) << LogText(tuner);
    EXPECT_LE(ended.workers, 4) << LogText(tuner);
  }
}

// Noise of 100 % and 200 %: the deviation of the durations over their mean. bench/tuner_noise.cc
// has more of it.
TEST(TunerSimulation, FindsMostWhereStepsDifferMuch) {
  for (const double noise : {1.0, 2.0}) {
    const Machine machine{.speed = [](double n) { return std::min(n, 16.0) / (1 + 0.002 * n); },
                          .step = Lognormal(std::sqrt(std::log(1 + noise * noise)))};
    unsigned right = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
      Tuner tuner({.first = FirstWorkers(16), .most = 32, .seed = seed});
      const Ended ended = Simulation(machine, tuner, seed * 7919).Run(500);
      if (machine.speed(ended.workers) > 0.9 * machine.speed(16)) ++right;
    }
    EXPECT_GE(right, 36) << noise;
  }
}

TEST(TunerSimulation, CostsLittle) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = Lognormal(0.2)};
  double share = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.first = 1, .most = 8, .seed = seed});
    const double seconds = Simulation(machine, tuner, seed).Run(500).seconds;
    share += 500 * std::exp(0.2 * 0.2 / 2) / machine.speed(3) / seconds / 20;
  }
  EXPECT_GT(share, 0.9);
}

TEST(TunerSimulation, StaysBelowWhatFailsForMemory) {
  const Machine machine{.speed = [](double n) { return n; }, .step = Lognormal(0.1), .fits = 5};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.first = 1, .most = 16, .seed = seed});
    const Ended ended = Simulation(machine, tuner, seed).Run(3000);
    EXPECT_GE(ended.workers, 4) << LogText(tuner);
    EXPECT_LE(ended.hard, 16) << LogText(tuner);
  }
}

}  // namespace
}  // namespace reveza::runner
