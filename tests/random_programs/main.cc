// The command line: --help lists the options.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/random_programs/trial.h"

namespace reveza::random_programs {
namespace {

struct Arguments {
  std::uint64_t seed = 1;
  std::uint64_t count = 0;
  int seconds = 60;
  int operations = 80;
  int repeat = 1;
  int max_failures = 1;
  bool print = false;
  bool shrink = true;
  std::string output = ".";
  std::vector<std::string> replay;
  TrialOptions trial;
};

// Whether the program fails in one of several runs.
bool Fails(Trial& trial, const Program& program, int runs, std::string* what) {
  for (int i = 0; i < runs; ++i) {
    if (const auto failure = trial.Run(program)) {
      *what = *failure;
      return true;
    }
  }
  return false;
}

// Returns what failed, without the values.
std::string KindOf(const std::string& what) {
  return what.substr(0, what.find_first_of("0123456789{;"));
}

// Shrinks the program and writes it to a file.
void Report(const Arguments& arguments, const Program& program, const std::string& name,
            const std::string& what) {
  std::printf("%s fails: %s\n", name.c_str(), what.c_str());
  std::fflush(stdout);
  Program small = program;
  std::string last = what;
  if (arguments.shrink) {
    auto options = arguments.trial;
    options.limit = std::min(options.limit, std::chrono::seconds(10));
    options.account_limit = std::chrono::milliseconds(500);
    // A hang may leave the daemon with a client that is gone, so it gets one of its own.
    auto trial = std::make_unique<Trial>(options);
    small = Shrink(program, [&](const Program& smaller) {
      std::string why;
      // Another kind of failure is another defect.
      const bool fails = Fails(*trial, smaller, 3, &why) && KindOf(why) == KindOf(what);
      if (fails) last = why;
      if (!why.empty()) trial = std::make_unique<Trial>(options);
      return fails;
    });
  }
  const auto path = std::filesystem::path(arguments.output) / (name + ".txt");
  std::string comment = last.substr(0, last.find('\n'));
  std::ofstream(path) << "# " << comment << "\n" << ToText(small);
  std::printf("%s: %zu operations left: %s\n%s", path.c_str(), small.operations.size(),
              last.c_str(), ToText(small).c_str());
  std::fflush(stdout);
}

int Replay(const Arguments& arguments) {
  int failures = 0;
  Trial trial(arguments.trial);
  for (const std::string& path : arguments.replay) {
    std::ifstream file(path);
    const auto program = ParseProgram(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!program) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), program.error().message.c_str());
      return 2;
    }
    std::string what;
    if (!Fails(trial, *program, arguments.repeat, &what)) continue;
    std::printf("%s fails: %s\n", path.c_str(), what.c_str());
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}

int Explore(const Arguments& arguments) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.seconds);
  auto trial = std::make_unique<Trial>(arguments.trial);
  std::uint64_t programs = 0, operations = 0, handovers = 0;
  int failures = 0;
  const auto more = [&] {
    return arguments.count > 0 ? programs < arguments.count
                               : std::chrono::steady_clock::now() < until;
  };
  for (std::uint64_t seed = arguments.seed; more() && failures < arguments.max_failures; ++seed) {
    const Program program = Generate(seed, arguments.trial.devices, arguments.operations);
    ++programs;
    operations += program.operations.size();
    const auto failure = trial->Run(program);
    if (!failure) continue;
    ++failures;
    handovers += trial->Handovers();
    const std::string name =
        "seed-" + std::to_string(seed) + "-" + std::to_string(arguments.trial.devices);
    trial.reset();
    Report(arguments, program, name, *failure);
    trial = std::make_unique<Trial>(arguments.trial);
  }
  handovers += trial->Handovers();
  std::printf("%llu programs, %llu operations, %llu handovers, %d failures\n",
              static_cast<unsigned long long>(programs),
              static_cast<unsigned long long>(operations),
              static_cast<unsigned long long>(handovers), failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace reveza::random_programs

int main(int argc, char** argv) {
  using namespace reveza::random_programs;
  Arguments arguments;
  int limit = 60;
  CLI::App app("Runs random CUDA programs natively and under Reveza, and compares.");
  app.add_option("--seed", arguments.seed, "seed of the first program");
  app.add_option("--count", arguments.count, "number of programs (default: for --seconds)");
  app.add_option("--seconds", arguments.seconds, "how long to try programs");
  app.add_option("--operations", arguments.operations, "operations of a program");
  app.add_option("--devices", arguments.trial.devices)->check(CLI::Range(1, kMaxDevices));
  app.add_option("--nvml", arguments.trial.nvml, "FAKECUDA_NVML: full, no-process-memory, none");
  app.add_option("--limit", limit, "seconds after which a program hangs");
  app.add_option("--repeat", arguments.repeat, "runs of each file of --replay");
  app.add_option("--failures", arguments.max_failures, "number of failures after which to end");
  app.add_option("--output", arguments.output, "folder of shrunk programs");
  app.add_option("--replay", arguments.replay, "run these files instead");
  app.add_flag("--print", arguments.print, "print the program of --seed");
  app.add_flag("!--no-shrink", arguments.shrink, "do not shrink failing programs");
  CLI11_PARSE(app, argc, argv);
  arguments.trial.limit = std::chrono::seconds(limit);
  if (arguments.print) {
    std::fputs(
        ToText(Generate(arguments.seed, arguments.trial.devices, arguments.operations)).c_str(),
        stdout);
    return 0;
  }
  return arguments.replay.empty() ? Explore(arguments) : Replay(arguments);
}
