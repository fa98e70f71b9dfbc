// What holds on every engine, on each of them; cluster_run_test.cc has what needs only one.
#include <signal.h>

#include "reveza/jobs/cluster/cluster_run.h"
#include "reveza/jobs/cluster/testing_cluster.h"

namespace reveza::jobs {
namespace engine_run_test {

namespace fs = std::filesystem;

class EngineRunTest : public ClusterTest, public ::testing::WithParamInterface<ClusterKind> {
 protected:
  EngineRunTest() : ClusterTest(GetParam()) {}
};

std::string NameOf(const ::testing::TestParamInfo<ClusterKind>& tested) {
  return std::string(NamesOf(tested.param).name);
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineRunTest,
                         ::testing::Values(ClusterKind::kSlurm, ClusterKind::kRay,
                                           ClusterKind::kKubernetes),
                         NameOf);

TEST_P(EngineRunTest, RunsEachStepOnceInArrays) {
  const Job job = Shell("echo {n} >> ran; echo out {n}", 8);
  const auto summary = OnCluster(job);
  EXPECT_EQ(summary.end, RunEnd::kDone);
  EXPECT_EQ(summary.counts.done, 8u);
  EXPECT_EQ(Lines("ran"), 8);
  EXPECT_EQ(Submits(), 1);
  EXPECT_EQ(listener_.ended.size(), 8u);
  EXPECT_EQ(Text("shared/test/array-1/shard-3-of-8/000/1.out"), "out 3\n");
  EXPECT_EQ(OnCluster(job).attempts, 0u);
  EXPECT_EQ(Submits(), 1);
  EXPECT_EQ(Run(job).done_before, 8u) << "at home everything is known";
}

TEST_P(EngineRunTest, RunsStepsOfLostNodesAgain) {
  Fake("lose-node", "xxxx");
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran", 1)).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 1);
  EXPECT_EQ(Submits(), 5) << "more often than a step may come back";
}

TEST_P(EngineRunTest, GivesUpOnTasksThatNeverRunAStep) {
  program_ = "/nowhere/reveza";
  const auto summary = OnCluster(Shell("echo {n} >> ran", 1));
  EXPECT_EQ(summary.end, RunEnd::kFailed);
  EXPECT_EQ(summary.counts.failed, 1u);
  EXPECT_EQ(Submits(), 3);
  EXPECT_TRUE(Noted("its task ended 3 times without a result"));
  program_ = REVEZA_PROGRAM;
  RunRequest request;
  request.retry_failed = true;
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran", 1), request).end, RunEnd::kDone);
}

TEST_P(EngineRunTest, WaitsForAnEngineThatDoesNotAnswer) {
  Fake("hold");
  listener_.on_note = [&](std::string_view note) {
    if (note.contains("will ask again")) Unfake("down");
    if (note.contains("answers again")) Unfake("hold");
  };
  bool submitted = false;
  listener_.on_progress = [&] {
    if (!std::exchange(submitted, true)) Fake("down");
  };
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran", 3)).end, RunEnd::kDone);
  EXPECT_TRUE(Noted(std::string(NamesOf(kind_).name) + " answers again"));
  EXPECT_EQ(Submits(), 1);
  EXPECT_EQ(Lines("ran"), 3);
}

TEST_P(EngineRunTest, DoesNotSubmitTwiceIfTheAnswerIsLost) {
  Fake("lose-answer");
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran; sleep 0.5", 3)).end, RunEnd::kDone);
  EXPECT_EQ(Submits(), 1);
  EXPECT_EQ(Lines("ran"), 3);
}

TEST_P(EngineRunTest, ReportsWhatTheEngineRefuses) {
  Fake("refuse", "there is no such thing");
  const Job job = Shell("echo {n} >> ran", 3);
  const auto refused = TryOnCluster(job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kInvalidArgument);
  EXPECT_TRUE(refused.error().message.contains("there is no such thing"));
  Unfake("refuse");
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 3);
}

TEST_P(EngineRunTest, AwaitsTheArraysOfALostRunner) {
  Fake("hold");
  bool asked = false;
  listener_.on_progress = [&] {
    if (!std::exchange(asked, true)) kill(getpid(), SIGTERM);
  };
  const Job job = Shell("echo {n} >> ran", 5);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kInterrupted);
  EXPECT_TRUE(Noted("the steps go on without this runner"));
  listener_.on_progress = [&] { Unfake("hold"); };
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_TRUE(Noted("5 tasks of an earlier runner are awaited"));
  EXPECT_EQ(Submits(), 1);
  EXPECT_EQ(Lines("ran"), 5);
}

TEST_P(EngineRunTest, AnotherHomeImportsWhatIsThere) {
  const Job job = Shell("echo {n} >> ran", 5);
  OnCluster(job);
  fs::remove_all(folder_ / "jobs");
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 5);
  EXPECT_EQ(Submits(), 1);
}

TEST_P(EngineRunTest, InterruptedTwiceItCancels) {
  int asked = 0;
  listener_.on_progress = [&] {
    if (fs::exists(folder_ / "on") && ++asked <= 2) kill(getpid(), SIGINT);
  };
  const Job job = Shell("touch on; [ -e go ] || sleep 600", 2);
  const auto summary = OnCluster(job);
  EXPECT_EQ(summary.end, RunEnd::kInterrupted);
  EXPECT_EQ(summary.counts.ready, 2u);
  listener_.on_progress = nullptr;
  std::ofstream(folder_ / "go") << "";
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
}

TEST_P(EngineRunTest, InterruptedItLetsRunningStepsFinish) {
  bool asked = false;
  listener_.on_progress = [&] {
    if (fs::exists(folder_ / "on") && !std::exchange(asked, true)) kill(getpid(), SIGINT);
  };
  RunRequest request;
  request.workers = 1;
  // The step ends when the runner in its task has been interrupted too.
  const auto summary = OnCluster(
      Shell("touch on; until grep -q 'no further steps start' shared/test/array-1/log-1.txt; "
            "do sleep 0.05; done; echo {n} >> ran",
            3),
      request);
  EXPECT_EQ(summary.end, RunEnd::kInterrupted);
  EXPECT_EQ(summary.counts.done, 1u);
  EXPECT_EQ(Lines("ran"), 1);
}

TEST_P(EngineRunTest, AKilledRunnerOnANodeRepeatsNothing) {
  // The step kills the runner of its task: the parent of its supervisor.
  const std::string kill_runner =
      "echo {n} >> ran; s=$(cut -d' ' -f4 /proc/$$/stat); r=$(cut -d' ' -f4 /proc/$s/stat); "
      "kill -9 $r; sleep 0.5; echo {n} >> ended";
  const auto summary = OnCluster(Shell(kill_runner, 2));
  EXPECT_EQ(summary.end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(Lines("ended"), 2);
  EXPECT_EQ(Submits(), 1);
}

// Engines that know only what is there.
class ForgetfulEngineRunTest : public EngineRunTest {};

INSTANTIATE_TEST_SUITE_P(Engines, ForgetfulEngineRunTest,
                         ::testing::Values(ClusterKind::kRay, ClusterKind::kKubernetes), NameOf);

TEST_P(ForgetfulEngineRunTest, AnEngineThatForgetsAllRepeatsNothing) {
  // The old tasks go on, and what they have done counts.
  listener_.on_note = [&](std::string_view note) {
    if (!note.contains("but processes of it are alive")) return;
    Unfake("forget");
    std::ofstream(folder_ / "go") << "";
  };
  const Job job = Shell("echo {n} >> ran; touch " + (state() / "forget").string() +
                            "; until [ -e go ]; do sleep 0.1; done",
                        3);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 3);
  EXPECT_TRUE(fs::exists(folder_ / "go"));
}

TEST_P(ForgetfulEngineRunTest, AFolderThatWasDeletedIsAnotherJob) {
  const Job job = Shell("echo {n} >> ran", 1);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  fs::remove_all(folder_ / "shared");
  fs::remove_all(folder_ / "jobs");
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone) << "the engine remembers the first one";
  EXPECT_EQ(Submits(), 2);
  EXPECT_EQ(Lines("ran"), 2);
}

}  // namespace engine_run_test
}  // namespace reveza::jobs
