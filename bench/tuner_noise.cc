// How often the tuner finds the right number of workers where steps differ much: simulated jobs,
// 200 for each place of the table, always the same seeds. Right: the throughput of the number with
// which the job ends is at least 90 % of the best. The second figure is how quick the whole job
// was, in percent of one that had the best number from the start.
//
//   build/bench/tuner_noise [FIRST]
//
// FIRST: the number to begin with; without it what the runner begins with.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "runner/decide/testing_machine.h"

namespace reveza::runner {
namespace {

using testing::Best;
using testing::Machine;
using testing::Scalability;
using testing::Simulation;
using testing::Speed;

constexpr unsigned kJobs = 200;
constexpr double kRight = 0.9;

struct World {
  std::string name;
  Speed speed;
  unsigned first;  // what the runner begins with there
  unsigned most;
};

std::vector<World> Worlds() {
  return {
      {"4 cores, best with 3: they disturb each other", Scalability(0.1, 0.1), 2, 8},
      {"4 cores, best with 4", [](double n) { return std::min(n, 4.0); }, 2, 8},
      {"16 cores, best with 10", Scalability(0.02, 0.0098), 8, 32},
      {"16 cores, best with 16", [](double n) { return std::min(n, 16.0) / (1 + 0.002 * n); }, 8,
       32},
      {"16 cores, best with 32: they wait for others", Scalability(0.01, 0), 8, 32},
      {"a GPU, best with 3", [](double n) { return std::min(n, 3.0) / (1 + 0.03 * n); }, 2, 16},
      {"one lock for all", [](double n) { return 1 / (1 + 0.15 * (n - 1)); }, 8, 32},
  };
}

struct Found {
  unsigned right = 0;
  double quickness = 0;  // mean
};

Found Try(const World& world, double noise, std::uint64_t steps, unsigned first) {
  // Of mean 1 and a standard deviation of `noise`.
  const double variance = std::log(1 + noise * noise);
  Machine machine{.speed = world.speed};
  machine.step = testing::Lognormal(std::sqrt(variance), std::exp(-variance / 2));
  const unsigned best = Best(world.speed, world.most);
  Found found;
  for (unsigned seed = 1; seed <= kJobs; ++seed) {
    Tuner tuner({.first = first, .most = world.most, .seed = seed});
    Simulation simulation(machine, tuner, seed * 7919);
    const auto ended = simulation.Run(steps);
    if (world.speed(ended.workers) >= kRight * world.speed(best)) ++found.right;
    Tuner fixed({.first = best, .least = best, .most = best});
    const auto ideal = Simulation(machine, fixed, seed * 7919).Run(steps);
    found.quickness += ideal.seconds / ended.seconds / kJobs;
  }
  return found;
}

void Print(std::uint64_t steps, std::optional<unsigned> first) {
  fmt::print(
      "\n{} steps; they differ by\n\n| machine | 20 % | 50 % | 100 % | 200 % "
      "|\n|---|---|---|---|---|\n",
      steps);
  for (const World& world : Worlds()) {
    fmt::print("| {} |", world.name);
    for (const double noise : {0.2, 0.5, 1.0, 2.0}) {
      const auto found = Try(world, noise, steps, first.value_or(world.first));
      fmt::print(" {:.0f} % right, {:.0f} % |", 100.0 * found.right / kJobs, 100 * found.quickness);
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace reveza::runner

int main(int count, char** arguments) {
  std::optional<unsigned> first;
  if (count > 1) first = static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10));
  for (const std::uint64_t steps : {200, 500, 2000}) reveza::runner::Print(steps, first);
  return 0;
}
