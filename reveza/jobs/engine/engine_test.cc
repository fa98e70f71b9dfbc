// The whole runner in one process, with real supervisors and real steps.
#include "reveza/jobs/engine/engine.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "common/platform/testing_directory.h"
#include "reveza/jobs/engine/added_steps.h"
#include "reveza/jobs/engine/testing_engine.h"
#include "reveza/jobs/journal/verify_outputs.h"

namespace reveza::jobs {
namespace engine_test {

using namespace std::chrono_literals;

TEST_F(EngineTest, RunsEveryStepOnce) {
  const auto summary = Run(Shell("echo {n} >> ran; echo out {n}", 20), Workers(3));
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(summary.counts.done, 20u);
  EXPECT_EQ(Lines("ran"), 20);
  EXPECT_EQ(Text("jobs/test/outputs/000/7.out"), "out 7\n");
}

TEST_F(EngineTest, StepsInheritWhatTheirCommandDoesNotSet) {
  Job job = Shell("echo $X $REVEZA_STEP $REVEZA_ATTEMPT", 6);
  job.commands.push_back(job.commands[0]);
  job.commands[1].environment = {{"X", "own{n}"}};
  job.commands.push_back(job.commands[0]);
  job.commands[2].environment = {{"Y", "1"}};
  for (std::uint32_t step = 0; step < 6; ++step) job.steps[step].command = step % 3;
  prepare_ = [](EngineParts& parts) {
    std::erase_if(parts.environment, [](const auto& one) { return one.starts_with("X="); });
    parts.environment.insert(parts.environment.begin(), {"X=inherited", "REVEZA_STEP=outer"});
  };
  EXPECT_EQ(Run(job, Workers(1)).end, Engine::RunEnd::kDone);
  const char* expected[] = {"inherited 1 1\n", "own2 2 1\n", "inherited 3 1\n",
                            "inherited 4 1\n", "own5 5 1\n", "inherited 6 1\n"};
  for (int step = 1; step <= 6; ++step) {
    EXPECT_EQ(Text("jobs/test/outputs/000/" + std::to_string(step) + ".out"), expected[step - 1]);
  }
}

TEST_F(EngineTest, FinishedStepsAreSkipped) {
  Run(Shell("echo {n} >> ran", 5), Workers(2));
  const auto summary = Run(Shell("echo {n} >> ran", 8), Workers(2));
  EXPECT_EQ(summary.done_before, 5u);
  EXPECT_EQ(summary.counts.done, 8u);
  EXPECT_EQ(Lines("ran"), 8);
}

TEST_F(EngineTest, ChangedTemplateIsNewStep) {
  Run(Shell("echo {n} >> ran", 3));
  Run(Shell("echo  {n} >> ran", 3));
  EXPECT_EQ(Lines("ran"), 6);
}

TEST_F(EngineTest, ForceRerunsAll) {
  Run(Shell("echo {n} >> ran", 3));
  RunRequest request;
  request.force = true;
  EXPECT_EQ(Run(Shell("echo {n} >> ran", 3), request).counts.done, 3u);
  EXPECT_EQ(Lines("ran"), 6);
}

TEST_F(EngineTest, RetryFailedRerunsFailures) {
  const auto job = Shell("echo {n} >> ran; [ {n} != 2 ] || [ -e mended ]", 3);
  auto summary = Run(job);
  EXPECT_EQ(summary.end, Engine::RunEnd::kFailed);
  EXPECT_EQ(summary.counts.failed, 1u);
  EXPECT_EQ(listener_.outcomes["n=2"], Outcome::kFailure);
  EXPECT_EQ(Run(job).counts.failed, 1u);
  EXPECT_EQ(Lines("ran"), 3);
  std::ofstream(folder_ / "mended");
  RunRequest request;
  request.retry_failed = true;
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 4);
}

TEST_F(EngineTest, RetriesUpToLimit) {
  RunRequest request = Workers(1);
  request.retries = 2;
  EXPECT_EQ(Run(Shell("echo {n} >> ran; exit 1", 1), request).counts.failed, 1u);
  EXPECT_EQ(Lines("ran"), 3);
  EXPECT_EQ(listener_.repeats, 2);
}

TEST_F(EngineTest, RespectsDependencies) {
  Job job = Shell("echo {n} >> ran; [ {n} != 4 ]", 6);
  job.steps[0].after = {2};  // 1 after 3
  job.steps[2].after = {1};  // 3 after 2
  job.steps[4].after = {3};  // 5 after 4, which fails
  job.steps[5].after = {4};  // 6 after 5
  const auto summary = Run(job, Workers(1));
  EXPECT_EQ(Text("ran"), "2\n3\n1\n4\n");
  EXPECT_EQ(summary.end, Engine::RunEnd::kFailed);
  EXPECT_EQ(summary.counts.skipped, 2u);
}

TEST_F(EngineTest, HigherPriorityRunsFirst) {
  Job job = Shell("echo {n} >> ran", 3);
  job.commands.push_back(job.commands[0]);
  job.commands[1].priority = 5;
  job.steps[2].command = 1;
  Run(job, Workers(1));
  EXPECT_EQ(Text("ran"), "3\n1\n2\n");
}

TEST_F(EngineTest, FirstInterruptDrains) {
  listener_.on_end = [told = false](const AttemptResult&) mutable {
    if (!std::exchange(told, true)) kill(getpid(), SIGINT);
  };
  const auto summary = Run(Shell("sleep 0.05; echo {n} >> ran", 50), Workers(2));
  EXPECT_EQ(summary.end, Engine::RunEnd::kInterrupted);
  EXPECT_LE(Lines("ran"), 4);
  EXPECT_EQ(static_cast<std::uint64_t>(Lines("ran")), summary.counts.done);
  listener_.on_end = nullptr;
  EXPECT_EQ(Run(Shell("sleep 0.05; echo {n} >> ran", 50), Workers(8)).end, Engine::RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 50);
}

TEST_F(EngineTest, SigtermCancelsAndStepsStayQueued) {
  const Job job =
      Shell("trap 'exit 0' TERM; echo {n} >> ran; [ -e go ] || { sleep 600 & wait; }", 2);
  listener_.on_progress = [&, told = false]() mutable {
    if (Lines("ran") == 2 && !std::exchange(told, true)) kill(getpid(), SIGTERM);
  };
  const auto summary = Run(job, Workers(2));
  EXPECT_EQ(summary.end, Engine::RunEnd::kInterrupted);
  EXPECT_EQ(listener_.outcomes["n=1"], Outcome::kCancelled);
  listener_.on_progress = nullptr;
  std::ofstream(folder_ / "go");
  EXPECT_EQ(Run(job, Workers(2)).end, Engine::RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 4);
}

TEST_F(EngineTest, KilledSupervisorIsRetried) {
  const Job job = Shell("echo {n} >> ran; [ -e again ] || { touch again; kill -9 $PPID; }", 1);
  const auto summary = Run(job);
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(summary.attempts, 2u);
}

TEST_F(EngineTest, KilledSupervisorIsHeldOnRequest) {
  RunRequest request;
  request.on_unknown = OnUnknown::kHold;
  const Job job = Shell("echo {n} >> ran; kill -9 $PPID", 1);
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kHeld);
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kHeld);
  EXPECT_EQ(Lines("ran"), 1);
}

TEST_F(EngineTest, NoSecondAttemptWhileFirstIsAlive) {
  // The supervisor dies while its step keeps running for a while.
  const Job job = Shell(
      "[ ! -e again ] || { [ ! -e alive ] || touch overlap; exit 0; }; "
      "touch again alive; kill -9 $PPID; sleep 0.5; rm alive",
      1);
  EXPECT_EQ(Run(job).end, Engine::RunEnd::kDone);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "overlap"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "alive"));
}

TEST_F(EngineTest, AnswersStatusAndPauses) {
  int asked = 0;
  nlohmann::json status;
  std::thread asker;
  listener_.on_progress = [&] {
    if (asked++ != 2) return;
    asker = std::thread([&] {
      status = QueryRunner("test", {{"request", "status"}}).value();
      EXPECT_EQ(QueryRunner("test", {{"request", "pause"}}).value(),
                nlohmann::json({{"ok", true}}));
      EXPECT_EQ(QueryRunner("test", {{"request", "status"}}).value()["state"], "paused");
      EXPECT_TRUE(QueryRunner("test", {{"request", "nonsense"}}).value().contains("error"));
      EXPECT_EQ(QueryRunner("test", {{"request", "resume"}}).value(),
                nlohmann::json({{"ok", true}}));
      std::ofstream(folder_ / "go");
    });
  };
  const auto summary = Run(Shell("while [ ! -e go ]; do sleep 0.01; done", 3), Workers(2));
  asker.join();
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(status["steps"]["all"], 3);
  EXPECT_EQ(status["steps"]["running"], 2);
  EXPECT_EQ(status["running"].size(), 2u);
  EXPECT_EQ(status["running"][0]["label"], "n=1");
}

// Sends a request from another thread once the first step has ended, then lets the second one end.
class AskedTest : public EngineTest {
 protected:
  void AskOnce(std::function<void()> ask) {
    listener_.on_end = [this, ask = std::move(ask), asked = false](const AttemptResult&) mutable {
      if (std::exchange(asked, true)) return;
      asker_ = std::thread([this, ask] {
        ask();
        std::ofstream(folder_ / "go");
      });
    };
  }
  ~AskedTest() override {
    if (asker_.joinable()) asker_.join();
  }
  std::thread asker_;
};

TEST_F(AskedTest, RetryRequeuesFailedAndDependents) {
  nlohmann::json answer;
  AskOnce([&] {
    std::ofstream(folder_ / "mended");
    answer = QueryRunner("test", {{"request", "retry"}}).value();
    EXPECT_TRUE(QueryRunner("test", {{"request", "retry"}, {"steps", {9}}})->contains("error"));
  });
  Job job = Shell(
      "echo {n} >> ran; [ {n} != 1 ] || [ -e mended ]; r=$?; "
      "[ {n} != 2 ] || while [ ! -e go ]; do sleep 0.01; done; exit $r",
      4);
  job.steps[2].after = {0};
  job.steps[3].after = {2};
  const auto summary = Run(job, Workers(2));
  EXPECT_EQ(answer, nlohmann::json({{"ok", true}, {"steps", 1}}));
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(summary.counts.done, 4u);
  EXPECT_EQ(Lines("ran"), 5);
}

TEST_F(AskedTest, AddedStepsRunAndPersist) {
  const std::string line =
      "echo {n} >> ran; [ {n} != 2 ] || while [ ! -e go ]; do sleep 0.01; done";
  AskOnce([&] {
    Job more = Shell(line, 4);
    more.steps[3].after = {0, 2};  // a finished and a new one
    auto journal = Journal::Open(folder_ / "jobs/test/journal.db");
    ASSERT_TRUE(journal);
    EXPECT_EQ(AddSteps(*journal, more).value(), 2u);
    EXPECT_EQ(AddSteps(*journal, more).value(), 0u);
    ASSERT_TRUE(journal->Commit());
    EXPECT_EQ(QueryRunner("test", {{"request", "add"}}).value(),
              nlohmann::json({{"ok", true}, {"steps", 2}}));
    EXPECT_EQ(QueryRunner("test", {{"request", "add"}}).value(),
              nlohmann::json({{"ok", true}, {"steps", 0}}));
  });
  const auto summary = Run(Shell(line, 2), Workers(2));
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(summary.counts.done, 4u);
  EXPECT_EQ(Lines("ran"), 4);
  // The original list; added steps persist.
  const auto again = Run(Shell(line, 3), Workers(2));
  EXPECT_EQ(again.done_before, 4u);
  EXPECT_EQ(again.counts.done, 4u);
}

TEST_F(EngineTest, SecondRunnerIsRefused) {
  Job job = Shell("true", 1);
  auto expander = Expander::Make(job);
  auto first = OpenJob(folder_.path(), job, *expander, {}, REVEZA_SUPERVISOR);
  ASSERT_TRUE(first);
  const auto second = OpenJob(folder_.path(), job, *expander, {}, REVEZA_SUPERVISOR);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Error::Code::kUnavailable);
}

TEST_F(EngineTest, DamagedJournalIsRebuiltFromRecords) {
  Job job = Shell("echo {n} >> ran", 5);
  Run(job, Workers(2));
  std::ofstream(folder_ / "jobs/test/journal.db") << "nonsense that is no database at all";
  auto expander = Expander::Make(job);
  {
    const auto opened = OpenJob(folder_.path(), job, *expander, {}, REVEZA_SUPERVISOR);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("reveza jobs repair test"), std::string::npos);
  }
  {
    const auto rebuilt = RebuildJournal(*JobFolder::Find(folder_.path(), "test"));
    ASSERT_TRUE(rebuilt) << rebuilt.error().message;
    EXPECT_EQ(rebuilt->imported.attempts, 5u);
    EXPECT_EQ(rebuilt->from_record.size(), 5u);
  }
  EXPECT_EQ(Run(job, Workers(2)).done_before, 5u);
  EXPECT_EQ(Lines("ran"), 5);
}

TEST_F(EngineTest, LostOutputsAreRecomputed) {
  const Job job = Shell("echo {n} | tee -a ran", 3);
  Run(job);
  {
    // Simulates a reboot before the barrier was written.
    auto journal = Journal::Open(folder_ / "jobs/test/journal.db");
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->Set("barrier", "0"));
    ASSERT_TRUE(journal->Commit());
    std::ofstream(folder_ / "jobs/test/outputs/000/2.out") << "x\n";
    BootId other{};
    other[0] = 1;
    const auto verified = VerifyOutputs(*journal, folder_ / "jobs/test/outputs", other);
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_EQ(verified->checked, 3u);
    EXPECT_EQ(verified->lost, 1u);
    ASSERT_TRUE(journal->Commit());
  }
  EXPECT_EQ(Run(job).done_before, 2u);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n2\n");
}

// A step that waits for others is not checked beforehand: they may create its program.
TEST_F(EngineTest, MissingProgramFailsWithReason) {
  Job job = Shell("true", 2);
  job.commands.push_back(job.commands[0]);
  job.commands[1].shell = false;
  job.commands[1].arguments = {"no-such-program-anywhere", "{n}"};
  job.steps[1].command = 1;
  job.steps[1].after = {0};
  EXPECT_EQ(Run(job).counts.failed, 1u);
  EXPECT_EQ(listener_.outcomes["n=2"], Outcome::kNotStarted);
}

TEST_F(EngineTest, KeepsTheOutputOfEachAttempt) {
  RunRequest request = Workers(1);
  request.retries = 2;
  const Job job = Shell(
      "echo x >> ran; wc -l < ran; [ $(wc -l < ran) != 2 ] || echo two >&2; "
      "[ $(wc -l < ran) = 3 ]",
      1);
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kDone);
  const std::string files = "jobs/test/outputs/000/1";
  EXPECT_EQ(Text(files + ".1.out"), "1\n");
  EXPECT_EQ(Text(files + ".2.out"), "2\n");
  EXPECT_EQ(Text(files + ".2.err"), "two\n");
  EXPECT_EQ(Text(files + ".out"), "3\n");
  const auto of = [&](std::uint32_t attempt) {
    return OutputsOfAttempt(folder_ / files, attempt, attempt == 3).filename();
  };
  EXPECT_EQ(of(1), "1.1");
  EXPECT_EQ(of(2), "1.2");
  EXPECT_EQ(of(3), "1");
  // A runner was killed before the next attempt had started.
  ASSERT_TRUE(KeepOutputs(folder_ / files, 3));
  EXPECT_EQ(of(3), "1.3");
  auto journal = Journal::Open(folder_ / "jobs/test/journal.db");
  ASSERT_TRUE(journal->Set("barrier", "0"));
  const auto verified = VerifyOutputs(*journal, folder_ / "jobs/test/outputs", BootId{1});
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->checked, 1u);
  EXPECT_EQ(verified->lost, 0u);
}

}  // namespace engine_test
}  // namespace reveza::jobs
