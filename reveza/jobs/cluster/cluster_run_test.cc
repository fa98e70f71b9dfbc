#include "reveza/jobs/cluster/cluster_run.h"

#include <signal.h>

#include "reveza/jobs/cluster/testing_cluster.h"
#include "reveza/jobs/engine/added_steps.h"

namespace reveza::jobs {
namespace cluster_run_test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class ClusterRunTest : public ClusterTest {};

TEST_F(ClusterRunTest, RunsEachStepOnceInArrays) {
  const Job job = Shell("echo {n} >> ran; echo out {n}", 20);
  const auto summary = OnCluster(job);
  EXPECT_EQ(summary.end, RunEnd::kDone);
  EXPECT_EQ(summary.counts.done, 20u);
  EXPECT_EQ(Lines("ran"), 20);
  EXPECT_EQ(Calls("sbatch", "--array=1-8"), 1) << "tasks up to the largest number";
  EXPECT_EQ(Calls("sbatch"), 1);
  EXPECT_EQ(listener_.ended.size(), 20u);
  EXPECT_EQ(Text("shared/test/array-1/shard-3-of-8/000/2.out"), "out 11\n");
  // At home everything is known.
  EXPECT_EQ(Run(job).done_before, 20u);
  EXPECT_EQ(OnCluster(job).attempts, 0u);
  EXPECT_EQ(Lines("ran"), 20);
}

TEST_F(ClusterRunTest, RunsStepsThatAreAddedWhileItStarts) {
  before_run_ = [this] {
    auto journal = Journal::Open(folder_ / "jobs/test/journal.db");
    ASSERT_TRUE(journal) << journal.error().message;
    ASSERT_TRUE(AddSteps(*journal, Shell("echo {n} >> ran", 4)));
    ASSERT_TRUE(journal->Commit());
  };
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran", 2)).counts.done, 4u);
  EXPECT_EQ(Lines("ran"), 4);
}

TEST_F(ClusterRunTest, StepsSeeTheirJobAndNumber) {
  OnCluster(Shell("echo $REVEZA_JOB_NAME $REVEZA_STEP $REVEZA_ATTEMPT {n} >> ran", 1));
  EXPECT_EQ(Text("ran"), "test 1 1 1\n");
}

TEST_F(ClusterRunTest, RetriesFailedStepsInTheirTask) {
  RunRequest request;
  request.retries = 2;
  const auto summary = OnCluster(Shell("echo {n} >> ran; [ {n} != 2 ]", 3), request);
  EXPECT_EQ(summary.end, RunEnd::kFailed);
  EXPECT_EQ(summary.counts.failed, 1u);
  EXPECT_EQ(Lines("ran"), 5);
  EXPECT_EQ(Calls("sbatch"), 1);
  request.retry_failed = true;
  OnCluster(Shell("echo {n} >> ran; [ {n} != 2 ]", 3), request);
  EXPECT_EQ(Lines("ran"), 8);
}

TEST_F(ClusterRunTest, HandsOverStepsWhenTheirPredecessorsAreDone) {
  Job job = Shell("echo {n} >> ran", 4);
  job.steps[0].after = {3};
  job.steps[3].after = {2};
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  const std::string ran = Text("ran");
  EXPECT_LT(ran.find('3'), ran.find('4'));
  EXPECT_LT(ran.find('4'), ran.find('1'));
  EXPECT_EQ(Calls("sbatch"), 3);
}

TEST_F(ClusterRunTest, KeepsToTheNumberOfWorkers) {
  RunRequest request;
  request.workers = 2;
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran", 9), request).end, RunEnd::kDone);
  EXPECT_EQ(Calls("sbatch", "--array=1-2"), 1);
  EXPECT_EQ(Lines("ran"), 9);
}

TEST_F(ClusterRunTest, ATaskThatEndsAtItsTimeLimitLeavesTheNextOneLess) {
  RunRequest request;
  request.workers = 1;
  const auto summary = OnCluster(
      Shell(
          "[ -e began{n} ] || { touch began{n} $FAKE_SLURM/end-task; sleep 600; }; echo {n} >> ran",
          5),
      request);
  EXPECT_EQ(summary.end, RunEnd::kDone) << "more often than a step may come back";
  EXPECT_EQ(Lines("ran"), 5);
  EXPECT_EQ(Calls("sbatch"), 6);
}

TEST_F(ClusterRunTest, GivesUpOnStepsThatTakeLongerThanTheTimeLimit) {
  const auto summary =
      OnCluster(Shell("echo {n} >> ran; touch $FAKE_SLURM/end-task; sleep 600", 1));
  EXPECT_EQ(summary.end, RunEnd::kFailed);
  EXPECT_EQ(Lines("ran"), 3);
  EXPECT_TRUE(Noted("SBATCH_TIMELIMIT"));
}

TEST_F(ClusterRunTest, FindsTasksThatSlurmHasForgottenInTheAccounting) {
  Fake("forget");
  Fake("lose-node", "xxxx");
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran", 1)).end, RunEnd::kDone)
      << "lost nodes are no failures of the step";
  EXPECT_GE(Calls("sacct"), 4);
  EXPECT_EQ(Lines("ran"), 1);
}

TEST_F(ClusterRunTest, DoesNotSubmitWhatHasEndedElsewhere) {
  Fake("down");
  int asked = 0;
  listener_.on_progress = [&] {
    if (++asked == 1) kill(getpid(), SIGTERM);
  };
  const Job job = Shell("echo {n} >> ran", 3);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kInterrupted) << "the array was not submitted";
  Unfake("down");
  listener_.on_progress = nullptr;
  EXPECT_EQ(Run(Shell("echo {n} >> ran", 2)).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 3);
}

TEST_F(ClusterRunTest, StepsThatFailWhenTheirTaskIsEndedRunAgain) {
  // The step sees that its task is being ended, before the runner does.
  const Job job = Shell(
      "echo {n} >> ran; [ -e began ] || { touch began; touch $FAKE_SLURM/end-task; exit 3; }", 1);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
}

TEST_F(ClusterRunTest, FailuresAreKnownWhileTheirTaskGoesOn) {
  RunRequest request;
  request.workers = 1;
  listener_.on_end = [&](const AttemptResult& result) {
    if (result.outcome == Outcome::kFailure) std::ofstream(folder_ / "go") << "";
  };
  const auto summary = OnCluster(Shell("[ {n} != 1 ] || exit 3; [ {n} = 2 ] || for i in $(seq "
                                       "900); do [ -e go ] && exit 0; sleep 0.05; done",
                                       3),
                                 request);
  EXPECT_EQ(summary.counts.failed, 1u);
  EXPECT_EQ(summary.counts.done, 2u);
}

TEST_F(ClusterRunTest, WaitsForStepsThatOutliveTheirTask) {
  bool lost = false;
  listener_.on_progress = [&] {
    if (!fs::exists(folder_ / "on") || std::exchange(lost, true)) return;
    for (const auto& entry : fs::directory_iterator(folder_ / "slurm/tasks")) {
      std::string text = Text("slurm/tasks" / entry.path().filename());
      const std::size_t at = text.find("RUNNING");
      if (at == text.npos) continue;
      std::ofstream(entry.path()) << text.replace(at, 7, "NODE_FAIL");
    }
  };
  EXPECT_EQ(OnCluster(Shell("touch on; sleep 2; echo {n} >> ran", 1)).end, RunEnd::kDone);
  EXPECT_TRUE(lost);
  EXPECT_EQ(Lines("ran"), 1);
  EXPECT_EQ(Calls("sbatch"), 1);
}

TEST_F(ClusterRunTest, StepsWhoseSupervisorDiesRunAgain) {
  const auto summary =
      OnCluster(Shell("echo {n} >> ran; [ $REVEZA_ATTEMPT -gt 1 ] || kill -9 $PPID $$", 1));
  EXPECT_EQ(summary.end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
}

TEST_F(ClusterRunTest, ClaimsBecomeMemoryAndCores) {
  Job job = Shell("echo {n} >> ran", 2);
  job.commands[0].claim = {.cpus = 1.5, .memory = kGiB, .gpu_memory = {}};
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Calls("sbatch", "--cpus-per-task=2 "), 1);
  EXPECT_EQ(Calls("sbatch", "--mem=1280M"), 1) << "a tenth more, the runner, rounded up";
}

TEST_F(ClusterRunTest, StepsOutOfMemoryComeBackWithALargerClaim) {
  Fake("out-of-memory", "x");
  Job job = Shell("echo {n} >> ran; [ $REVEZA_ATTEMPT -gt 1 ] || kill -9 $$", 1);
  job.commands[0].claim.memory = 100 * kMiB;
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(Calls("sbatch", "--mem=208M"), 1);
  EXPECT_EQ(Calls("sbatch", "--mem=384M"), 1) << "half as much again as it was given";
}

TEST_F(ClusterRunTest, TheLogSaysThatMemoryRanOut) {
  const auto log = folder_ / "shared/test/array-1/log-1.txt";
  const Job job = Shell(
      "echo {n} >> ran; [ $REVEZA_ATTEMPT -gt 1 ] || { echo 'slurmstepd: error: "
      "Exceeded job memory limit' >> " +
          log.string() + "; kill -9 $$; }",
      1);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(Calls("sbatch", "--mem="), 1) << "the second time";
}

TEST_F(ClusterRunTest, CyclesGoOnInAnotherTask) {
  Job job = Shell(
      "echo {from}-{to} >> ran; for i in $(seq {from} {to}); do echo reveza step $i x=1; "
      "[ $i != 2 ] || [ $REVEZA_ATTEMPT -gt 1 ] || kill -9 $$; done",
      1);
  job.commands[0].cycles = Cycles{.count = 4, .chain = 0};
  Fake("out-of-memory", "x");
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Text("ran"), "1-4\n3-4\n");
}

TEST_F(ClusterRunTest, RefusesAFolderThatCannotBeWritten) {
  std::ofstream(folder_ / "shared") << "a file";
  const auto refused = TryOnCluster(Shell("true {n}", 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kPermission);
  EXPECT_TRUE(refused.error().message.starts_with("--shared: cannot write"));
}

TEST_F(ClusterRunTest, HasOneRunner) {
  fs::create_directories(folder_ / "shared/test");
  std::ofstream(folder_ / "shared/test/runner.owner") << "elsewhere 7\n";
  const auto refused = TryOnCluster(Shell("true {n}", 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kUnavailable);
}

TEST_F(ClusterRunTest, HaltsAfterFailures) {
  RunRequest request;
  request.workers = 1;
  request.halt = {.mode = Halt::Mode::kSoon, .failures = 1};
  Job job = Shell("echo {n} >> ran; false", 4);
  job.commands.push_back(job.commands[0]);
  job.commands[1].claim.cpus = 2;  // in an array of their own, when the first one has ended
  job.steps[2].command = job.steps[3].command = 1;
  const auto summary = OnCluster(job, request);
  EXPECT_EQ(summary.end, RunEnd::kHalted);
  EXPECT_EQ(summary.counts.failed, 2u);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(Calls("sbatch"), 1);
}

}  // namespace cluster_run_test
}  // namespace reveza::jobs
