#include "jobs_demo.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "exit_status.h"
#include "platform/runtime_paths.h"
#include "runner/definition/template.h"
#include "runner/engine/control.h"

extern char** environ;

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kSteps = 120;
constexpr std::uint64_t kKillAfter = 30;  // steps that are done
constexpr int kCycles = 60;               // of each step, with phi

// A tenth of a second of one core, or so: cycles of phi, each reported with its figure; where phi
// is not beside us, a loop. It notes that it began, so that nothing done twice is overlooked.
struct Work {
  bool phi;
  std::string step;
};
Work WorkHere() {
  const std::string begun = "echo {n} >> begun; ";
  const fs::path phi = platform::ProgramFolder() / "phi";
  std::error_code error;
  if (!fs::exists(phi, error)) {
    return {false, begun + "awk 'BEGIN { for (i = 0; i < 3000000; i++) s += sin(i); print s }'"};
  }
  return {true, begun + runner::QuotedForShell(phi.string()) +
                    fmt::format(" run --seed {{n}} --runs 6 --cycles {} --quiet --steps --from "
                                "{{from}}",
                                kCycles)};
}

void Tell(std::string_view text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

std::string TitleLine(std::string_view title) {
  std::string line = fmt::format("== {} ", title);
  if (line.size() < 78) line.append(78 - line.size(), '=');
  return line;
}

// A folder for all that the demo leaves, gone with it; jobs of the user are not seen from there.
class Stage {
 public:
  Stage() {
    std::string name = (fs::temp_directory_path() / "reveza-demo-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
    setenv("REVEZA_STATE", (path_ / "state").c_str(), 1);
    setenv("XDG_RUNTIME_DIR", path_.c_str(), 1);
  }
  ~Stage() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

pid_t Spawn(std::vector<std::string> words) {
  const std::string program = platform::ProgramFolder() / "reveza";
  words.insert(words.begin(), program);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  return posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments.data(), environ) == 0 ? pid
                                                                                              : -1;
}

int Wait(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<std::string> RunWords(const fs::path& folder, const Work& work) {
  std::vector<std::string> words = {"jobs",     "run",           "--name", "demo",
                                    "--folder", folder.string(), "--shell"};
  if (work.phi) words.insert(words.end(), {"--cycles", std::to_string(kCycles)});
  words.insert(words.end(), {"--", work.step, ":::", "n", fmt::format("1..{}", kSteps)});
  return words;
}

// Until so many steps are done; how many are. 0: it ended before.
std::uint64_t AwaitSteps(std::uint64_t wanted) {
  for (int i = 0; i < 600; ++i) {
    const auto status = runner::AskRunner("demo", {{"request", "status"}});
    if (status) {
      const auto done = status->at("steps").value("done", std::uint64_t{0});
      if (done >= wanted) return done;
    }
    std::this_thread::sleep_for(50ms);
  }
  return 0;
}

std::map<std::string, int> Begun(const fs::path& folder) {
  std::map<std::string, int> begun;
  std::ifstream file(folder / "begun");
  for (std::string line; std::getline(file, line);) ++begun[line];
  return begun;
}

bool EachOnce(const std::map<std::string, int>& begun) {
  if (begun.size() != static_cast<std::size_t>(kSteps)) return false;
  for (const auto& [step, times] : begun) {
    if (times != 1) return false;
  }
  return true;
}

}  // namespace

int JobsDemo(int argc, char** /*argv*/) {
  if (argc > 1) return Say(kUsage, "reveza jobs demo takes no arguments");
  const Stage stage;
  if (stage.path().empty()) return Say(kOutput, "no folder for the demo can be made in TMPDIR");
  Tell(TitleLine("A list of steps that is killed, and goes on"));
  const Work work = WorkHere();
  Tell(fmt::format("{} steps, {}. How many at once is best? Nobody says:\nthe runner tries.\n",
                   kSteps,
                   work.phi ? fmt::format("each 6 runs of {} cycles of phi", kCycles)
                            : "each a tenth of a second of work"));
  const std::vector<std::string> words = RunWords(stage.path(), work);
  Tell(fmt::format("$ reveza jobs run --name demo{} --shell -- {} ::: n 1..{}",
                   work.phi ? fmt::format(" --cycles {}", kCycles) : "",
                   runner::QuotedForShell(work.step), kSteps));
  const pid_t first = Spawn(words);
  if (first < 0) return Say(kNotStarted, "cannot start a runner");
  const auto done = AwaitSteps(kKillAfter);
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  Tell(
      fmt::format("\n(here the runner was killed with -9, after {} steps; then the same command "
                  "again)\n",
                  done));
  if (const int status = Wait(Spawn(words)); status != 0) {
    return Say(kResults, fmt::format("the second run ended with status {}", status));
  }
  const auto begun = Begun(stage.path());
  Tell(fmt::format("\n{} steps were begun, {}.\n", begun.size(),
                   EachOnce(begun) ? "each of them once" : "some of them twice or never"));
  Tell("And why not more at once? The doctor looks at this machine:\n\n$ reveza doctor");
  const int verdict = Wait(Spawn({"doctor"}));
  Tell(
      "\nWhat it means: what a step has done is written down before the runner hears of it,"
      "\nso a kill, a crash or a power cut costs at most the steps that were under way."
      "\n\nWith your own steps:"
      "\n  reveza jobs run -- ./simulate --seed {seed} ::: seed 1..500"
      "\n  reveza jobs list                    what there is, and how far it is"
      "\n  reveza top                          what runs now"
      "\n  reveza doctor -- ./simulate         why more of it does not run at once");
  if (verdict < 0 || !EachOnce(begun)) return Say(kResults, "the demo did not end as it should");
  return kDone;
}

}  // namespace reveza::cli
