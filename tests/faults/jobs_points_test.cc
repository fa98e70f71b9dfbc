// Checks the guarantees of the runner (docs/jobs.md) while runner, supervisor, step or several of
// them are killed at each entry to or exit from a system call. REVEZA_STORM_ROUNDS is the number of
// points tested in each case (default 40, 0 for all).
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"
#include "tests/faults/tracer.h"

namespace reveza::testing {
namespace jobs_points_test {

constexpr int kSteps = 3;

struct Case {
  const char* name;
  Role at;
  std::set<Role> victims;
  bool hold;  // --on-unknown hold
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class JobsPointsTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }

  std::vector<std::string> Command(const std::string& on_unknown) const {
    return {REVEZA_PROGRAM, "jobs",     "run",     "--name",    "storm",
            "--workers",    "2",        "--quiet", "--retries", "1000000",
            "--on-unknown", on_unknown, "--",      REVEZA_STEP, round_,
            "{n}",          "0",        ":::",     "n",         "1.." + std::to_string(kSteps)};
  }

  TraceResult Round(int number, const KillPlan& plan) {
    round_ = folder_ / std::to_string(number);
    std::filesystem::create_directories(round_);
    setenv("REVEZA_STATE", (round_ + "/state").c_str(), 1);
    return tracer_.Run(Command(GetParam().hold ? "hold" : "retry"), plan);
  }

  // Runs the command again to completion. Returns its exit status.
  int RunToCompletion() {
    std::string line;
    for (const auto& word : Command(GetParam().hold ? "hold" : "retry")) line += "'" + word + "' ";
    return platform::Shell(line).status;
  }

  std::map<std::string, int> Lines(const char* name) const {
    std::map<std::string, int> lines;
    std::ifstream file(round_ + "/" + name);
    for (std::string line; std::getline(file, line);) ++lines[line];
    return lines;
  }

  void ExpectGuarantees() {
    EXPECT_TRUE(Lines("overlaps").empty()) << "two attempts of a step were alive at the same time";
    const auto folder = jobs::JobFolder::Find(round_ + "/state", "storm");
    ASSERT_TRUE(folder) << folder.error().message;
    auto journal = jobs::Journal::Open(folder->journal());
    ASSERT_TRUE(journal) << journal.error().message;
    const auto list = journal->List();
    ASSERT_TRUE(list) << list.error().message;
    ASSERT_EQ(list->size(), static_cast<std::size_t>(kSteps));
    const auto begun = Lines("begun");
    const auto finished = Lines("finished");
    for (const auto& step : *list) {
      SCOPED_TRACE(step.label);
      const auto attempts = journal->Attempts(step.identity);
      ASSERT_TRUE(attempts) << attempts.error().message;
      const auto successes =
          std::ranges::count(*attempts, jobs::Outcome::kSuccess,
                             [](const auto& entry) { return entry.result.outcome; });
      const std::string number = step.label.substr(step.label.find('=') + 1);
      const int times = begun.contains(number) ? begun.at(number) : 0;
      const bool held = GetParam().hold && step.state == jobs::StepState::kUnknown;
      EXPECT_EQ(successes, held ? 0 : 1) << "exactly one success must be recorded";
      if (held) {
        EXPECT_LE(times, 1) << "a held step must not run again";
        continue;
      }
      EXPECT_EQ(step.state, jobs::StepState::kDone);
      EXPECT_TRUE(finished.contains(number)) << "the step is recorded as done but has not finished";
      if (GetParam().victims == std::set<Role>{Role::kRunner}) {
        EXPECT_EQ(times, 1) << "killing only the runner must not repeat a step";
      }
      EXPECT_LE(times, 2) << "one kill may repeat a step at most once";
    }
  }

  static std::size_t Rounds(std::size_t points) {
    const char* text = std::getenv("REVEZA_STORM_ROUNDS");
    const std::size_t wanted = text != nullptr ? std::strtoul(text, nullptr, 10) : 40;
    return wanted == 0 ? points : std::min(wanted, points);
  }

  platform::TestingDirectory folder_;
  std::string round_;
  Tracer tracer_{REVEZA_SUPERVISOR, REVEZA_STEP};
};

TEST_P(JobsPointsTest, KeepsGuarantees) {
  const TraceResult reference = Round(0, {});
  ASSERT_TRUE(WIFEXITED(reference.status) && WEXITSTATUS(reference.status) == 0)
      << reference.status;
  const std::size_t points = reference.stops.at(static_cast<std::size_t>(GetParam().at));
  ASSERT_GT(points, 0u);
  const std::size_t rounds = Rounds(points);
  std::size_t killed = 0;
  for (std::size_t i = 0; i < rounds && !HasFailure(); ++i) {
    const std::size_t nth = 1 + i * points / rounds;
    SCOPED_TRACE("killed at stop " + std::to_string(nth) + " of " + std::to_string(points));
    const TraceResult traced =
        Round(static_cast<int>(i) + 1, {GetParam().at, nth, GetParam().victims});
    killed += traced.killed ? 1 : 0;
    const int status = RunToCompletion();
    EXPECT_TRUE(status == 0 || (GetParam().hold && status == 20)) << status;
    ExpectGuarantees();
    std::filesystem::remove_all(round_);
  }
  // Some runs make fewer calls than the reference run.
  EXPECT_GT(killed, rounds * 3 / 4);
  std::cout << rounds << " rounds, " << killed << " of them with a kill, of " << points
            << " points\n";
}

INSTANTIATE_TEST_SUITE_P(
    Victims, JobsPointsTest,
    ::testing::Values(Case{"Runner", Role::kRunner, {Role::kRunner}, false},
                      Case{"Supervisor", Role::kSupervisor, {Role::kSupervisor}, false},
                      Case{"SupervisorHold", Role::kSupervisor, {Role::kSupervisor}, true},
                      Case{"Step", Role::kStep, {Role::kStep}, false},
                      Case{"RunnerAndSupervisorsAtRunnerCall",
                           Role::kRunner,
                           {Role::kRunner, Role::kSupervisor},
                           false},
                      Case{"RunnerAndSupervisorAtSupervisorCall",
                           Role::kSupervisor,
                           {Role::kRunner, Role::kSupervisor},
                           false},
                      Case{"AllAtRunnerCall",
                           Role::kRunner,
                           {Role::kRunner, Role::kSupervisor, Role::kStep},
                           false},
                      Case{"AllAtSupervisorCall",
                           Role::kSupervisor,
                           {Role::kRunner, Role::kSupervisor, Role::kStep},
                           false}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace jobs_points_test
}  // namespace reveza::testing
