#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/exec_arguments.h"
#include "common/base/parse_number.h"
#include "common/platform/runtime_paths.h"
#include "common/platform/temporary_folder.h"
#include "include/reveza_step.h"
#include "reveza/cli/reveza/demo/demo_picture.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/jobs/definition/template.h"
#include "reveza/jobs/engine/control.h"

extern char** environ;

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kSteps = 120;
constexpr std::uint64_t kKillAfter = 30;   // finished steps
constexpr std::uint64_t kDemoCycles = 60;  // of each step
constexpr int kPointsPerCycle = 400'000;   // about 2 ms

// The shell command of a step: records its start, so that a repeated step is noticed, then runs the
// worker for about a tenth of a second.
std::string StepCommand() {
  const std::string program = platform::ProgramFolder() / "reveza";
  return "echo {n} >> begun; " + jobs::ShellQuote(program) + " jobs demo --worker {n} {from}";
}

void Narrate(std::string_view text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

// Starts `reveza` with these arguments. Returns its pid, or -1.
pid_t SpawnReveza(std::vector<std::string> words) {
  words.insert(words.begin(), platform::ProgramFolder() / "reveza");
  const auto arguments = ExecArguments(words);
  pid_t pid = 0;
  return posix_spawn(&pid, words[0].c_str(), nullptr, nullptr, arguments.data(), environ) == 0 ? pid
                                                                                               : -1;
}

// Returns the exit status, or -1 if the process was killed.
int WaitForExit(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<std::string> RunArguments(const fs::path& folder) {
  return {"jobs",        "run",
          "--name",      "demo",
          "--folder",    folder.string(),
          "--cycles",    std::to_string(kDemoCycles),
          "--shell",     "--",
          StepCommand(), ":::",
          "n",           fmt::format("1..{}", kSteps)};
}

// Waits until `wanted` steps are done. Returns how many are, or 0 after 30 s.
std::uint64_t AwaitSteps(std::uint64_t wanted) {
  for (int i = 0; i < 600; ++i) {
    const auto status = jobs::QueryRunner("demo", {{"request", "status"}});
    if (status) {
      const auto done = status->at("steps").value("done", std::uint64_t{0});
      if (done >= wanted) return done;
    }
    std::this_thread::sleep_for(50ms);
  }
  return 0;
}

// Returns how often each step was started.
std::map<std::string, int> CountStarts(const fs::path& folder) {
  std::map<std::string, int> starts;
  std::ifstream file(folder / "begun");
  for (std::string line; std::getline(file, line);) ++starts[line];
  return starts;
}

bool EachOnce(const std::map<std::string, int>& starts) {
  return starts.size() == static_cast<std::size_t>(kSteps) &&
         std::ranges::all_of(starts, [](const auto& step) { return step.second == 1; });
}

// splitmix64: small, and good enough for points in a square.
std::uint64_t NextRandom(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t bits = state;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

// Estimates pi by random points: the same for the same numbers on every machine.
double DemoEstimate(std::uint64_t seed, std::uint64_t cycle) {
  std::uint64_t state = seed << 32 | cycle;
  int inside = 0;
  for (int i = 0; i < kPointsPerCycle; ++i) {
    const std::uint64_t bits = NextRandom(state);
    const std::uint64_t x = bits >> 32;
    const std::uint64_t y = bits & 0xffffffff;
    if ((x * x >> 1) + (y * y >> 1) < std::uint64_t{1} << 63) ++inside;
  }
  return 4.0 * inside / kPointsPerCycle;
}

// A step of the demo: runs the cycles from `argv[2]` to kDemoCycles with the seed `argv[1]`, and
// reports an estimate of pi for each by include/reveza_step.h.
int RunDemoWorker(int argc, char** argv) {
  const auto seed = argc == 3 ? ParseNumber<std::uint64_t>(argv[1]) : std::nullopt;
  const auto from = argc == 3 ? ParseNumber<std::uint64_t>(argv[2]) : std::nullopt;
  if (!seed || !from) return ReportError(kUsage, "usage: reveza jobs demo --worker SEED FROM");
  for (std::uint64_t cycle = *from; cycle <= kDemoCycles; ++cycle) {
    const reveza_metric metrics[] = {{"pi", DemoEstimate(*seed, cycle)}};
    if (reveza_step(cycle, metrics, 1) != 0) return kOutput;
  }
  return kDone;
}

}  // namespace

Result<int> JobsDemo(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--worker") return RunDemoWorker(argc - 1, argv + 1);
  if (argc > 1) return ReportError(kUsage, "reveza jobs demo takes no arguments");
  // For the demo's files and state, separate from the user's jobs.
  const platform::TemporaryFolder sandbox(fs::temp_directory_path(), "reveza-demo-");
  if (sandbox.path().empty()) return ReportError(kOutput, "cannot create a folder in TMPDIR");
  setenv("REVEZA_STATE", (sandbox.path() / "state").c_str(), 1);
  setenv("XDG_RUNTIME_DIR", sandbox.path().c_str(), 1);
  Narrate(TitleLine("A job whose runner is killed, and resumed"));
  Narrate(
      fmt::format("{} steps, each {} cycles of simulated work. The number of workers is not\n"
                  "given: the runner measures which one is best.\n",
                  kSteps, kDemoCycles));
  const std::vector<std::string> arguments = RunArguments(sandbox.path());
  Narrate(fmt::format("$ reveza jobs run --name demo --cycles {} --shell -- {} ::: n 1..{}",
                      kDemoCycles, jobs::ShellQuote(StepCommand()), kSteps));
  const pid_t first = SpawnReveza(arguments);
  if (first < 0) return ReportError(kNotStarted, "cannot start a runner");
  const auto done = AwaitSteps(kKillAfter);
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  Narrate(fmt::format(
      "\n(the runner was killed by SIGKILL after {} steps; now the same command again)\n", done));
  if (const int status = WaitForExit(SpawnReveza(arguments)); status != 0) {
    return ReportError(kResults, "the second run exited with status {}", status);
  }
  const auto starts = CountStarts(sandbox.path());
  const bool exactly_once = EachOnce(starts);
  Narrate(fmt::format("\n{} steps were started, {}.\n", starts.size(),
                      exactly_once ? "each exactly once" : "some of them twice or never"));
  Narrate("What limits this machine? The doctor examines it:\n\n$ reveza doctor");
  const int verdict = WaitForExit(SpawnReveza({"doctor"}));
  Narrate(
      "\nWhat it shows: a step's result is recorded before the runner learns of it, so a kill,\na "
      "crash or a power failure costs at most the steps that were running.\n\nWith your own "
      "steps:\n  reveza jobs run -- ./simulate --seed {seed} ::: seed 1..500\n  reveza jobs list   "
      "                 all jobs and their progress\n  reveza top                          what is "
      "running now\n  reveza doctor -- ./simulate         what limits running more of them");
  if (verdict < 0 || !exactly_once) return ReportError(kResults, "the demo failed");
  return kDone;
}

}  // namespace reveza::cli
