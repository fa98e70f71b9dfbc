// What ends a run before all its steps have run, and what the journal keeps of that.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "common/base/unique_fd.h"
#include "common/platform/process_tree.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_halt_test {

class EngineHaltTest : public EngineTest {
 protected:
  // Steps that report their number as the score.
  Job Scores(int count) {
    Job job = Shell("echo {n} >> ran; echo reveza step 1 score={n}", count);
    job.commands[0].cycles = Cycles{1, 0};
    return job;
  }
  static std::vector<pid_t> ChildrenOfThisProcess() {
    std::vector<pid_t> children;
    const UniqueFd proc(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    platform::AppendChildren(proc.get(), getpid(), children);
    return children;
  }
  static RunRequest Until(const char* goal) {
    RunRequest request = Workers(1);
    request.halt.mode = Halt::Mode::kSoon;
    request.halt.goal = *ParseGoal(goal);
    return request;
  }
  RunRecord Record() {
    const auto folder = JobFolder::Find(folder_.path(), "test");
    auto journal = JournalReader::Open(folder->journal());
    EXPECT_TRUE(journal) << journal.error().message;
    return ParseRunRecord(journal->Get(kRunRecordKey)->value()).value();
  }
};

TEST_F(EngineHaltTest, HaltsAfterEnoughFailures) {
  RunRequest request = Workers(1);
  request.halt = {.mode = Halt::Mode::kSoon, .failures = 2};
  const auto summary = Run(Shell("echo {n} >> ran; exit 1", 10), request);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(summary.end, RunEnd::kHalted);
  EXPECT_EQ(Record().end, RunEnd::kHalted);
  EXPECT_EQ(Record().waiting, 8u);
  EXPECT_EQ(Record().reason, "2 steps failed, and --halt allows no more");
}

TEST_F(EngineHaltTest, StopsOnceAMetricMeetsTheGoal) {
  EXPECT_EQ(Run(Scores(9), Until("score>=3")).end, RunEnd::kGoalMet);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n");
  EXPECT_EQ(Record().end, RunEnd::kGoalMet);
  EXPECT_EQ(Record().reason, "step n=3 reported score=3, and --halt asks for score>=3");
  const RunRecord record = Record();
  // It stays met, and another goal does not.
  EXPECT_EQ(Run(Scores(9), Until("score>2")).end, RunEnd::kGoalMet);
  EXPECT_EQ(Lines("ran"), 3);
  EXPECT_EQ(Record(), record) << "of the run that did something";
  EXPECT_EQ(Run(Scores(9), Until("loss>2")).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 9);
}

TEST_F(EngineHaltTest, NowCancelsRunningSteps) {
  Job job = Shell("trap 'exit 0' TERM; echo reveza step 1 score={n}; sleep 60 & wait", 2);
  job.commands[0].cycles = Cycles{2, 0};
  RunRequest request = Until("score>0");
  request.workers = 2;
  request.halt.mode = Halt::Mode::kNow;
  EXPECT_EQ(Run(job, request).end, RunEnd::kGoalMet);
  EXPECT_EQ(Record().waiting, 2u);
}

// As by `systemctl stop` and scancel, whose order is not known.
TEST_F(EngineHaltTest, SigtermToAllProcessesLeavesNoStepDone) {
  constexpr int kSteps = 16;
  const Job job =
      Shell("trap 'exit 0' TERM; echo $$ > pid-{n}; echo >> ran; sleep 600 & wait", kSteps);
  for (const bool steps_first : {true, false}) {
    folder_.Write("ran", "");
    listener_ = {};
    // The longer they run, the longer their ends may be apart from those of their supervisors.
    listener_.on_progress = [&, ready = 0]() mutable {
      if (Lines("ran") < kSteps || ++ready != 10) return;
      std::vector<pid_t> processes;
      for (int n = 1; n <= kSteps; ++n) {
        processes.push_back(std::stoi(Text("pid-" + std::to_string(n))));
      }
      const auto supervisors = ChildrenOfThisProcess();
      EXPECT_GE(supervisors.size(), static_cast<std::size_t>(kSteps));
      processes.insert(processes.end(), supervisors.begin(), supervisors.end());
      processes.push_back(getpid());
      if (!steps_first) std::ranges::reverse(processes);
      for (const pid_t pid : processes) kill(pid, SIGTERM);
    };
    const auto summary = Run(job, Workers(kSteps));
    EXPECT_EQ(summary.end, RunEnd::kInterrupted);
    EXPECT_EQ(summary.counts.done, 0u) << (steps_first ? "steps first" : "runner first");
    EXPECT_EQ(summary.counts.failed, 0u);
  }
}

TEST_F(EngineHaltTest, RecordsWhatInterrupted) {
  listener_.on_end = [told = false](const AttemptResult&) mutable {
    if (!std::exchange(told, true)) kill(getpid(), SIGINT);
  };
  EXPECT_EQ(Run(Shell("true {n}", 50), Workers(1)).end, RunEnd::kInterrupted);
  const RunRecord record = Record();
  EXPECT_EQ(record.end, RunEnd::kInterrupted);
  EXPECT_EQ(record.reason, "SIGINT was received");
  EXPECT_GE(record.ended, record.began);
  EXPECT_GT(record.waiting, 0u);
}

TEST_F(EngineHaltTest, LeavesNoEndWhileItRuns) {
  std::optional<RunRecord> meanwhile;
  listener_.on_end = [&](const AttemptResult&) { meanwhile = Record(); };
  EXPECT_EQ(Run(Shell("sleep 0.2", 1), Workers(1)).end, RunEnd::kDone);
  ASSERT_TRUE(meanwhile);
  EXPECT_FALSE(meanwhile->end) << "as a killed runner leaves it";
  EXPECT_EQ(meanwhile->ended, 0);
  EXPECT_EQ(Record().end, RunEnd::kDone);
}

// The machine's counter may have grown because of other programs before the step began.
TEST_F(EngineHaltTest, EarlierKillsAreNotBlamedOnLaterSteps) {
  folder_.Write("machine/proc/vmstat", "oom_kill 0\n");
  hurries_ = true;
  prepare_ = [this](EngineParts& parts) { parts.root = folder_ / "machine"; };
  listener_.on_end = [this](const AttemptResult&) { clock_.Move(std::chrono::seconds(2)); };
  RunRequest request = Workers(1);
  request.limits = Limits::kNone;
  Run(Shell("[ {n} = 1 ] && echo oom_kill 1 > machine/proc/vmstat || kill -9 $$", 2), request);
  EXPECT_EQ(listener_.outcomes["n=2"], Outcome::kSignal);
}

}  // namespace engine_halt_test
}  // namespace reveza::jobs
