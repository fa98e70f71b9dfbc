// The command line of replay_calls: plays recordings of `reveza trace --calls` on fakecuda,
// natively and under Reveza beside a contender, and compares.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/random_programs/trial.h"

namespace reveza::recorded_calls {
namespace {

struct Arguments {
  random_programs::TrialOptions trial;
  std::vector<std::string> files;
  std::uint64_t scale = 1, pause = 200, seed = 1;
  int repeat = 1;
};

int Replay(const Arguments& arguments) {
  random_programs::Trial trial(arguments.trial);
  int failures = 0;
  for (const std::string& file : arguments.files) {
    for (int i = 0; i < arguments.repeat; ++i) {
      const auto failure = trial.RunClient(
          "play_calls", {file, "--scale", std::to_string(arguments.scale), "--pause",
                         std::to_string(arguments.pause), "--seed",
                         std::to_string(arguments.seed + static_cast<std::uint64_t>(i))});
      if (!failure) continue;
      std::printf("%s fails: %s\n", file.c_str(), failure->c_str());
      ++failures;
    }
  }
  std::printf("%zu recordings, %d times each, %llu handovers, %d failures\n",
              arguments.files.size(), arguments.repeat,
              static_cast<unsigned long long>(trial.Handovers()), failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace reveza::recorded_calls

int main(int argc, char** argv) {
  reveza::recorded_calls::Arguments arguments;
  int limit = 60;
  CLI::App app("Plays recorded driver calls natively and under Reveza, and compares.");
  app.add_option("FILE", arguments.files, "recordings of `reveza trace --calls`")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--scale", arguments.scale, "divides the sizes of memory")
      ->check(CLI::PositiveNumber);
  app.add_option("--pause", arguments.pause, "mean pause between calls, in microseconds");
  app.add_option("--seed", arguments.seed, "seed of the first run's pauses");
  app.add_option("--repeat", arguments.repeat, "runs of each file");
  app.add_option("--devices", arguments.trial.devices)->check(CLI::Range(1, 8));
  app.add_option("--nvml", arguments.trial.nvml, "FAKECUDA_NVML: full, no-process-memory, none");
  app.add_option("--memory", arguments.trial.memory, "memory of a device");
  app.add_option("--budget", arguments.trial.budget, "what programs and contender may use of it");
  app.add_option("--contender", arguments.trial.contender_bytes, "bytes of the contender");
  app.add_option("--limit", limit, "seconds after which a replay hangs");
  CLI11_PARSE(app, argc, argv);
  arguments.trial.limit = std::chrono::seconds(limit);
  return reveza::recorded_calls::Replay(arguments);
}
