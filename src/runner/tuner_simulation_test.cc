// The tuner on simulated machines: `Speed(n)` is how much n workers finish together in the time in
// which one alone finishes 1. Steps that run share it evenly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "runner/tuner.h"

namespace reveza::runner {
namespace {

using std::chrono::nanoseconds;
using Speed = std::function<double(double workers)>;

// The universal scalability law, N. Gunther 2007.
Speed Scalability(double sigma, double kappa) {
  return [=](double n) { return n / (1 + sigma * (n - 1) + kappa * n * (n - 1)); };
}

struct Machine {
  Speed speed;
  // Seconds that step number `index` takes alone.
  std::function<double(std::uint64_t index, std::mt19937_64& random)> step =
      [](std::uint64_t, std::mt19937_64&) { return 1.0; };
  // By which the whole machine is faster at a time, in seconds.
  std::function<double(double now)> weather = [](double) { return 1.0; };
  std::function<WorkClass(std::uint64_t index)> step_class = [](std::uint64_t) { return 0; };
  // More than that is refused memory.
  unsigned fits = 1000;
};

struct Ended {
  unsigned workers = 0;
  std::uint64_t settled_after = 0;  // steps
  double seconds = 0;
  unsigned hard = 0;
  std::set<unsigned> used;
};

class Simulation {
 public:
  Simulation(const Machine& machine, Tuner& tuner, std::uint64_t seed)
      : machine_(machine), tuner_(tuner), random_(seed) {}

  Ended Run(std::uint64_t steps, unsigned most) {
    Ended ended;
    steps_ = steps;
    Start();
    while (!running_.empty()) {
      FinishNext();
      if (running_.size() > machine_.fits) {
        tuner_.Hard(Now(), HardSignal::kOutOfMemory);
        ++ended.hard;
      }
      Start();
      ended.used.insert(tuner_.workers());
      EXPECT_LE(tuner_.workers(), most);
      EXPECT_GE(tuner_.workers(), 1);
      if (tuner_.settled() && ended.settled_after == 0) ended.settled_after = finished_;
    }
    ended.workers = tuner_.workers();
    ended.seconds = now_;
    return ended;
  }

 private:
  struct Running {
    double left = 0;
    double begun = 0;
    std::uint64_t index = 0;
  };

  nanoseconds Now() const { return nanoseconds(std::llround(now_ * 1e9)); }

  void Start() {
    while (running_.size() < tuner_.workers() && next_ < steps_) {
      running_.push_back({machine_.step(next_, random_), now_, next_});
      ++next_;
    }
    tuner_.Pass(Now(), steps_ - next_, static_cast<unsigned>(running_.size()));
  }

  void FinishNext() {
    const auto first = std::ranges::min_element(running_, {}, &Running::left);
    const double workers = static_cast<double>(running_.size());
    const double each = machine_.speed(workers) / workers * machine_.weather(now_);
    const double passed = first->left;
    now_ += passed / each;
    const Running done = *first;
    running_.erase(first);
    for (Running& other : running_) other.left -= passed;
    ++finished_;
    tuner_.Finished(Now(), nanoseconds(std::llround((now_ - done.begun) * 1e9)), 1,
                    machine_.step_class(done.index));
  }

  const Machine& machine_;
  Tuner& tuner_;
  std::mt19937_64 random_;
  std::vector<Running> running_;
  std::uint64_t steps_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t finished_ = 0;
  double now_ = 0;
};

unsigned Best(const Speed& speed, unsigned most) {
  unsigned best = 1;
  for (unsigned n = 1; n <= most; ++n) {
    if (speed(n) > speed(best) * 1.0001) best = n;
  }
  return best;
}

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
    Tuner tuner({.first = 1, .most = expected.most, .seed = seed});
    const Ended ended = Simulation(machine, tuner, seed * 7919).Run(expected.steps, expected.most);
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

auto Lognormal(double deviation, double median = 1) {
  return [=](std::uint64_t, std::mt19937_64& random) {
    return median * std::lognormal_distribution<double>(0, deviation)(random);
  };
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
    const Ended ended = Simulation(machine, tuner, seed).Run(1500, 8);
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
  ExpectFound(machine, {.steps = 200, .settled_after = 175});
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
    const Ended ended = Simulation(machine, tuner, seed).Run(3000, 8);
    EXPECT_TRUE(ended.used.contains(6) || ended.used.contains(7)) << LogText(tuner);
    EXPECT_LE(ended.workers, 4) << LogText(tuner);
  }
}

TEST(TunerSimulation, CostsLittle) {
  const Machine machine{.speed = Scalability(0.1, 0.1), .step = Lognormal(0.2)};
  double share = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.first = 1, .most = 8, .seed = seed});
    const double seconds = Simulation(machine, tuner, seed).Run(500, 8).seconds;
    share += 500 * std::exp(0.2 * 0.2 / 2) / machine.speed(3) / seconds / 20;
  }
  EXPECT_GT(share, 0.9);
}

TEST(TunerSimulation, StaysBelowWhatFailsForMemory) {
  const Machine machine{.speed = [](double n) { return n; }, .step = Lognormal(0.1), .fits = 5};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Tuner tuner({.first = 1, .most = 16, .seed = seed});
    const Ended ended = Simulation(machine, tuner, seed).Run(3000, 16);
    EXPECT_GE(ended.workers, 4) << LogText(tuner);
    EXPECT_LE(ended.hard, 16) << LogText(tuner);
  }
}

}  // namespace
}  // namespace reveza::runner
