// Simulates how often the tuner finds the right number of workers if durations of steps vary: 200
// jobs with fixed seeds per cell. The number is right if its throughput at the end of the job is at
// least 90 % of the best. The second figure is the speed of the whole job relative to one that
// starts with the best number.
//
//   build/bench/tuner_noise [FIRST]
//
// FIRST is the initial number of workers; the default is that of the runner.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "reveza/jobs/decide/testing_machine.h"

namespace reveza::jobs {
namespace {

using testing::Best;
using testing::Machine;
using testing::Scalability;
using testing::Simulation;
using testing::Speed;

constexpr unsigned kJobs = 200;
constexpr double kRightShare = 0.9;

struct Scenario {
  std::string name;
  Speed speed;
  unsigned initial;  // the runner's initial number
  unsigned max_workers;
};

std::vector<Scenario> Scenarios() {
  return {
      {"4 cores, best with 3 (contention)", Scalability(0.1, 0.1), 2, 8},
      {"4 cores, best with 4", [](double n) { return std::min(n, 4.0); }, 2, 8},
      {"16 cores, best with 10", Scalability(0.02, 0.0098), 8, 32},
      {"16 cores, best with 16", [](double n) { return std::min(n, 16.0) / (1 + 0.002 * n); }, 8,
       32},
      {"16 cores, best with 32 (steps mostly wait)", Scalability(0.01, 0), 8, 32},
      {"a GPU, best with 3", [](double n) { return std::min(n, 3.0) / (1 + 0.03 * n); }, 2, 16},
      {"one global lock", [](double n) { return 1 / (1 + 0.15 * (n - 1)); }, 8, 32},
  };
}

struct Score {
  unsigned right = 0;
  double relative_speed = 0;  // mean
};

Score Evaluate(const Scenario& scenario, double noise, std::uint64_t steps, unsigned initial) {
  // Durations with mean 1 and standard deviation `noise`.
  const double variance = std::log(1 + noise * noise);
  Machine machine{.speed = scenario.speed};
  machine.step = testing::Lognormal(std::sqrt(variance), std::exp(-variance / 2));
  const unsigned best = Best(scenario.speed, scenario.max_workers);
  Score found;
  for (unsigned seed = 1; seed <= kJobs; ++seed) {
    Tuner tuner({.initial = initial, .max = scenario.max_workers, .seed = seed});
    Simulation simulation(machine, tuner, seed * 7919);
    const auto ended = simulation.Run(steps);
    if (scenario.speed(ended.workers) >= kRightShare * scenario.speed(best)) ++found.right;
    Tuner fixed({.initial = best, .min = best, .max = best});
    const auto ideal = Simulation(machine, fixed, seed * 7919).Run(steps);
    found.relative_speed += ideal.seconds / ended.seconds / kJobs;
  }
  return found;
}

void Print(std::uint64_t steps, std::optional<unsigned> initial) {
  fmt::print(
      "\n{} steps; standard deviation of durations:\n\n| machine | 20 % | 50 % | 100 % | 200 % "
      "|\n|---|---|---|---|---|\n",
      steps);
  for (const Scenario& scenario : Scenarios()) {
    fmt::print("| {} |", scenario.name);
    for (const double noise : {0.2, 0.5, 1.0, 2.0}) {
      const auto found = Evaluate(scenario, noise, steps, initial.value_or(scenario.initial));
      fmt::print(" {:.0f} % right, {:.0f} % speed |", 100.0 * found.right / kJobs,
                 100 * found.relative_speed);
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace reveza::jobs

int main(int argc, char** argv) {
  std::optional<unsigned> initial;
  if (argc > 1) initial = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  for (const std::uint64_t steps : {200, 500, 2000}) reveza::jobs::Print(steps, initial);
  return 0;
}
