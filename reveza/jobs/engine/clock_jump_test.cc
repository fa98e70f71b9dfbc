// The wall clock jumps by years while a job runs: time limits, durations and the order of attempts
// are unaffected.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "common/platform/testing_directory.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/open_job.h"
#include "reveza/jobs/engine/testing_listener.h"
#include "reveza/jobs/engine/testing_machine.h"
#include "reveza/jobs/journal/import_records.h"

namespace reveza::jobs {
namespace clock_jump_test {

using namespace std::chrono_literals;
using reveza::testing::SetClock;

constexpr std::int64_t kYear = 365LL * 86'400 * 1'000'000'000;

class ClockJumpTest : public ::testing::Test {
 protected:
  ClockJumpTest() { setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~ClockJumpTest() override {
    SetClock(0);
    reveza::testing::SetFileSystem(0);
  }

  Job Shell(const std::string& line, int count) const {
    Job job;
    job.name = "test";
    Command command;
    command.arguments = {line};
    command.shell = true;
    command.folder = folder_.path();
    command.time_limit = 600s;
    job.commands.push_back(command);
    for (int n = 1; n <= count; ++n)
      job.steps.emplace_back().parameters = {{"n", std::to_string(n)}};
    return job;
  }

  // With supervisors that share this program's clock.
  Engine::Summary Run(Job job, RunRequest request = {}) {
    auto expander = Expander::Make(job);
    request.workers = 2;
    auto opened = OpenJob(folder_.path(), job, *expander, request,
                          std::filesystem::read_symlink("/proc/self/exe"));
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) return {};
    notes_ = opened->notes;
    Engine engine(std::move(opened->parts), listener_);
    auto summary = engine.Run();
    EXPECT_TRUE(summary) << summary.error().message;
    return summary.value_or(Engine::Summary{});
  }

  void Jump() { SetClock(++jumps_ % 2 == 0 ? 3 * kYear : -2 * kYear); }

  platform::TestingDirectory folder_;
  reveza::testing::TestingListener listener_;
  std::vector<std::string> notes_;
  int jumps_ = 0;
};

TEST_F(ClockJumpTest, DurationsSurviveWallClockJumps) {
  listener_.on_end = [&] { Jump(); };
  std::chrono::nanoseconds longest{0};
  int estimates = 0;
  listener_.on_progress = [&](const Progress& progress) {
    Jump();
    if (!progress.remaining) return;
    ++estimates;
    longest = std::max(longest, std::chrono::nanoseconds(progress.remaining->p90));
  };
  const auto summary = Run(Shell("sleep 0.05; echo {n} >> ran", 40));
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_GT(estimates, 0);
  EXPECT_LT(longest, 1h);
  for (const auto& [label, result] : listener_.ended) {
    EXPECT_EQ(result.outcome, Outcome::kSuccess) << label;
    EXPECT_GE(result.ended, result.began) << label;
    EXPECT_LT(std::chrono::nanoseconds(result.ended - result.began), 600s) << label;
  }
  auto journal = Journal::Open(folder_ / "jobs/test/journal.db");
  ASSERT_TRUE(journal);
  const auto attempts = journal->AttemptsAfter(0);
  ASSERT_TRUE(attempts);
  ASSERT_EQ(attempts->size(), listener_.ended.size());
  for (std::size_t i = 0; i < attempts->size(); ++i) {
    EXPECT_EQ((*attempts)[i].result.pid, listener_.ended[i].result.pid) << "order changed";
  }
}

TEST_F(ClockJumpTest, CycleDurationsSurviveWallClockJumps) {
  listener_.on_cycle = [&] { Jump(); };
  std::chrono::nanoseconds longest{0};
  int estimates = 0;
  listener_.on_progress = [&](const Progress& progress) {
    if (!progress.remaining) return;
    ++estimates;
    longest = std::max(longest, std::chrono::nanoseconds(progress.remaining->p90));
  };
  Job job = Shell(
      "i={from}; while [ $i -le {to} ]; do sleep 0.03; echo reveza step $i; i=$((i+1)); done", 1);
  job.commands[0].cycles = Cycles{40, 0};
  EXPECT_EQ(Run(job).end, Engine::RunEnd::kDone);
  EXPECT_EQ(listener_.cycles, 40);
  EXPECT_GT(estimates, 0);
  EXPECT_LT(longest, 1h);
}

// Records are named by wall-clock time and read in name order.
TEST_F(ClockJumpTest, RecordOrderDoesNotMatter) {
  EXPECT_EQ(Run(Shell("[ -e mended ]", 3)).end, Engine::RunEnd::kFailed);
  SetClock(-2 * kYear);
  std::ofstream(folder_ / "mended");
  RunRequest request;
  request.retry_failed = true;
  EXPECT_EQ(Run(Shell("[ -e mended ]", 3), request).end, Engine::RunEnd::kDone);
  {
    std::ofstream(folder_ / "jobs/test/journal.db") << "nothing of it can be read any more";
    auto rebuilt = RebuildJournal(*JobFolder::Find(folder_.path(), "test"));
    ASSERT_TRUE(rebuilt);
    EXPECT_EQ(rebuilt->imported.attempts, 6u);
    EXPECT_EQ(rebuilt->journal.AttemptsAfter(0)->front().result.name.attempt, 2u)
        << "this test would notice nothing";
  }
  EXPECT_EQ(Run(Shell("[ -e mended ]", 3)).done_before, 3u);
}

TEST_F(ClockJumpTest, WarnsOfJournalOnNetworkFileSystem) {
  reveza::testing::SetFileSystem(0x6969);
  EXPECT_EQ(Run(Shell("true", 1)).end, Engine::RunEnd::kDone);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("is on NFS"), std::string::npos) << notes_[0];
  reveza::testing::SetFileSystem(0);
  Run(Shell("true", 2));
  EXPECT_TRUE(notes_.empty());
}

}  // namespace clock_jump_test
}  // namespace reveza::jobs
