// Kills runners, supervisors and steps at random and checks the guarantees of the runner: at most
// one live attempt of a step, exactly one recorded success, and no lost step. Killing only runners
// must not repeat steps.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/platform/process_table.h"
#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"

extern char** environ;

namespace reveza {
namespace jobs_storm_test {

using namespace std::chrono_literals;

constexpr int kSteps = 400;

class JobsStormTest : public testing::Test {
 protected:
  JobsStormTest() {
    setenv("REVEZA_STATE", (folder_.path() / "state").c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  }
  ~JobsStormTest() override {
    for (const pid_t pid : ChildProcesses()) kill(pid, SIGKILL);
  }

  pid_t StartRunner(const std::vector<std::string>& options = {"--retries", "1000000"}) {
    std::vector<std::string> words = {REVEZA_PROGRAM, "jobs",      "run", "--name",
                                      "storm",        "--workers", "3",   "--quiet"};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string& word :
         {std::string("--"), std::string(REVEZA_STEP), folder_.path().string(), std::string("{n}"),
          std::string("4"), std::string(":::"), std::string("n"), "1.." + std::to_string(kSteps)}) {
      words.push_back(word);
    }
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, REVEZA_PROGRAM, nullptr, nullptr, arguments.data(), environ), 0);
    return pid;
  }

  // Returns the supervisors and steps of this test, found by their arguments.
  std::vector<pid_t> ChildProcesses() {
    std::vector<pid_t> found;
    for (const pid_t pid : reader_.List()) {
      const std::string command = reader_.Command(pid);
      const bool of_job =
          command.starts_with(REVEZA_SUPERVISOR) || command.starts_with(REVEZA_STEP);
      if (of_job && command.find(folder_.path().string()) != std::string::npos)
        found.push_back(pid);
    }
    return found;
  }

  // Restarts the runner until the job is done. Returns false after 50 attempts.
  bool RunToCompletion(const std::vector<std::string>& options = {"--retries", "1000000"}) {
    for (int i = 0; i < 50; ++i) {
      const pid_t pid = StartRunner(options);
      int status = 0;
      waitpid(pid, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    }
    return false;
  }

  std::map<std::string, int> Lines(const char* name) {
    std::map<std::string, int> lines;
    std::ifstream file(folder_ / name);
    for (std::string line; std::getline(file, line);) ++lines[line];
    return lines;
  }

  void ExpectGuarantees() {
    EXPECT_TRUE(Lines("overlaps").empty());
    EXPECT_EQ(Lines("finished").size(), static_cast<std::size_t>(kSteps));
    const auto folder = jobs::JobFolder::Find(folder_.path() / "state", "storm");
    ASSERT_TRUE(folder);
    auto journal = jobs::Journal::Open(folder->journal());
    ASSERT_TRUE(journal) << journal.error().message;
    const auto list = journal->List();
    ASSERT_TRUE(list) << list.error().message;
    for (const auto& step : *list) {
      EXPECT_EQ(step.state, jobs::StepState::kDone) << step.label;
      const auto attempts = journal->Attempts(step.identity);
      ASSERT_TRUE(attempts);
      EXPECT_EQ(std::ranges::count(*attempts, jobs::Outcome::kSuccess,
                                   [](const auto& entry) { return entry.result.outcome; }),
                1)
          << step.label;
    }
  }

  platform::TestingDirectory folder_;
  platform::ProcessReader reader_;
};

TEST_F(JobsStormTest, KilledRunnersNeverRepeatSteps) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const pid_t pid = StartRunner();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 80));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  ASSERT_TRUE(RunToCompletion());
  ExpectGuarantees();
  for (const auto& [number, times] : Lines("begun")) EXPECT_EQ(times, 1) << number;
}

TEST_F(JobsStormTest, RandomKillsKeepGuarantees) {
  std::mt19937 random(2);
  int killed = 0;
  pid_t runner = StartRunner();
  for (int round = 0; round < 300; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 12));
    const auto children = ChildProcesses();
    if (random() % 4 == 0) {
      kill(runner, SIGKILL);
    } else if (!children.empty()) {
      kill(children[random() % children.size()], SIGKILL);
      ++killed;
    }
    if (waitpid(runner, nullptr, WNOHANG) == runner) runner = StartRunner();
  }
  kill(runner, SIGKILL);
  waitpid(runner, nullptr, 0);
  EXPECT_GT(killed, 0);
  ASSERT_TRUE(RunToCompletion());
  ExpectGuarantees();
}

// Two shards, each with a state folder of its own as on two machines.
TEST_F(JobsStormTest, KilledShardsMergeEachSuccessOnce) {
  const auto enter = [&](const char* machine) {
    setenv("REVEZA_STATE", (folder_ / machine).c_str(), 1);
  };
  const auto shard = [&](const char* part) {
    return std::vector<std::string>{"--shard", part, "--export", (folder_ / "shared").string()};
  };
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    enter("m1");
    const pid_t one = StartRunner(shard("1/2"));
    enter("m2");
    const pid_t other = StartRunner(shard("2/2"));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 80));
    // By SIGTERM a runner exports what it has.
    kill(one, random() % 2 == 0 ? SIGKILL : SIGTERM);
    kill(other, SIGKILL);
    waitpid(one, nullptr, 0);
    waitpid(other, nullptr, 0);
  }
  enter("m1");
  ASSERT_TRUE(RunToCompletion(shard("1/2")));
  enter("m2");
  ASSERT_TRUE(RunToCompletion(shard("2/2")));
  enter("state");
  const auto merged =
      platform::Shell(REVEZA_PROGRAM " jobs merge storm " + (folder_ / "shared").string());
  EXPECT_EQ(merged.status, 0) << merged.output;
  EXPECT_EQ(merged.output.find("more than once"), std::string::npos) << merged.output;
  ExpectGuarantees();
}

// The first step that is killed fails and ends the others, which are not done then.
TEST_F(JobsStormTest, HaltedRunsKeepGuarantees) {
  const std::vector<std::string> halting = {"--halt", "now,fail=1", "--retry-failed"};
  std::mt19937 random(4);
  int halted = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t runner = StartRunner(halting);
    int status = 0;
    while (waitpid(runner, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 12));
      const auto children = ChildProcesses();
      if (!children.empty()) kill(children[random() % children.size()], SIGKILL);
    }
    halted += WIFEXITED(status) && WEXITSTATUS(status) != 0 ? 1 : 0;
  }
  EXPECT_GT(halted, 0);
  ASSERT_TRUE(RunToCompletion({"--retry-failed"}));
  ExpectGuarantees();
}

}  // namespace jobs_storm_test
}  // namespace reveza
