// Simulates jobs in virtual time with the runner's tuner, and compares each with the best fixed
// number of workers for the very same steps.
//
//   build/bench/tuner_regret [--seeds 20] [--cores N] [--seconds S] [--verbose]
//
// Prints, by workload, the regret: how much longer the job took, on average over the seeds, and of
// the worst seed. A seed draws the machine (2 to 16 cores) and all parameters of the workload, of
// which options set the number of cores and the length of a step (1 to 30 s).
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "reveza/jobs/decide/testing_world.h"

namespace reveza::jobs {
namespace {

using testing::Workload;
using testing::World;

void Print(unsigned first, unsigned seeds, unsigned cores, double length, bool verbose) {
  fmt::print(
      "| workload | 100 steps: mean | worst | 500 steps: mean | worst |\n|---|---|---|---|---|\n");
  for (const auto name : testing::WorkloadNames()) {
    fmt::print("| {} |", name);
    std::string details;
    for (const std::uint64_t steps : {100, 500}) {
      double mean = 0;
      double worst = 0;
      for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        const Workload workload = testing::MakeWorkload(name, seed, cores, length);
        const auto best = testing::FindBestFixed(workload, steps, seed);
        Tuner tuner = testing::MakeTuner(workload);
        const double seconds = World(workload, steps, seed).Run(tuner);
        const double regret = seconds / best.seconds - 1;
        mean += regret / seeds;
        worst = std::max(worst, regret);
        if (!verbose) continue;
        details += fmt::format(
            "{} steps, seed {}: {} cores, best {} ({:.1f} s), ended with {} ({:.1f} s), {:.1f} %\n",
            steps, seed, workload.cores, best.workers, best.seconds, tuner.workers(), seconds,
            100 * regret);
      }
      fmt::print(" {:.1f} % | {:.1f} % |", 100 * mean, 100 * worst);
    }
    fmt::print("\n{}", details);
  }
}

}  // namespace
}  // namespace reveza::jobs

int main(int argc, char** argv) {
  unsigned first = 1;
  unsigned seeds = 20;
  unsigned cores = 0;
  double length = 0;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--verbose") {
      verbose = true;
    } else if (option == "--seeds" && has_value) {
      seeds = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (option == "--first" && has_value) {
      first = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (option == "--cores" && has_value) {
      cores = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (option == "--seconds" && has_value) {
      length = std::strtod(argv[++i], nullptr);
    } else {
      fmt::print(stderr,
                 "usage: tuner_regret [--first N] [--seeds N] [--cores N] [--seconds S] "
                 "[--verbose]\n");
      return 2;
    }
  }
  reveza::jobs::Print(first, seeds, cores, length, verbose);
  return 0;
}
