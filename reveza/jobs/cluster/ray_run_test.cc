// Jobs on a Ray of scripts. What does not depend on the engine is in engine_run_test.cc and
// cluster_run_test.cc.
#include <fmt/format.h>
#include <signal.h>

#include "reveza/jobs/cluster/cluster_run.h"
#include "reveza/jobs/cluster/testing_cluster.h"

namespace reveza::jobs {
namespace ray_run_test {

namespace fs = std::filesystem;

class RayRunTest : public ClusterTest {
 protected:
  RayRunTest() : ClusterTest(ClusterKind::kRay) {}
  ~RayRunTest() override {
    for (const char* name : {"REVEZA_RAY_OPTIONS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"}) {
      unsetenv(name);
    }
  }
  // Returns an attempt that kills its worker; further ones end at once.
  static std::string KillWorker(const std::string& how) {
    return "echo {n} >> ran; [ $REVEZA_ATTEMPT -gt 1 ] || { echo " + how +
           " > $FAKE_RAY/kill-worker; sleep 600; }";
  }
};

TEST_F(RayRunTest, ClaimsBecomeResources) {
  setenv("REVEZA_RAY_OPTIONS", R"({"resources": {"big": 1}, "scheduling_strategy": "SPREAD"})", 1);
  Job job = Shell("echo {n} >> ran", 2);
  job.commands[0].claim = {.cpus = 1.5, .memory = kGiB, .gpu_memory = {}};
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Calls("task", R"("num_cpus": 2)"), 2);
  EXPECT_EQ(Calls("task", R"("memory": 1342177280)"), 2) << "as on Slurm";
  EXPECT_EQ(Calls("task", R"("resources": {"big": 1}, "scheduling_strategy": "SPREAD")"), 2);
  EXPECT_EQ(Calls("task", R"("max_retries": 0)"), 2);
}

TEST_F(RayRunTest, StepsOfAWorkerOutOfMemoryComeBackWithALargerClaim) {
  Job job = Shell(KillWorker("OutOfMemoryError"), 1);
  job.commands[0].claim.memory = 100 * kMiB;
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(Calls("task", fmt::format(R"("memory": {},)", 208 * kMiB)), 1);
  EXPECT_EQ(Calls("task", fmt::format(R"("memory": {},)", 384 * kMiB)), 1);
}

TEST_F(RayRunTest, TheMemoryOfStepsThatClaimedNoneIsLearned) {
  EXPECT_EQ(OnCluster(Shell(KillWorker("OutOfMemoryError"), 1)).end, RunEnd::kDone);
  EXPECT_EQ(Calls("task", R"("memory")"), 1) << "the second time";
  EXPECT_EQ(Calls("task"), 2);
}

TEST_F(RayRunTest, StepsOfLostNodesRunAgain) {
  Fake("lose-node", "xxxx");
  const auto summary = OnCluster(Shell(KillWorker("NodeDiedError"), 1));
  EXPECT_EQ(summary.end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(Calls("submit"), 6) << "more often than a step may come back";
}

TEST_F(RayRunTest, TheEndOfAWorkerEndsItsStep) {
  // Nothing else ends the step, and a step that lives is not handed over again.
  EXPECT_EQ(OnCluster(Shell(KillWorker("WorkerCrashedError"), 1)).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_TRUE(Text("shared/test/array-1/log-1.txt").contains("reveza: by a test\n"));
}

TEST_F(RayRunTest, AStoppedJobOfRayIsHandedOverAgain) {
  const auto summary = OnCluster(Shell(
      "echo {n} >> ran; [ $REVEZA_ATTEMPT -gt 1 ] || { touch $FAKE_RAY/stop; sleep 600; }", 1));
  EXPECT_EQ(summary.end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
}

TEST_F(RayRunTest, ASecondSubmissionStartsNothing) {
  Fake("lose-answer");
  Fake("forget");
  listener_.on_progress = [&] {
    if (Calls("submit") > 1) Unfake("forget");
  };
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran; sleep 0.5", 3)).end, RunEnd::kDone);
  EXPECT_GE(Calls("submit"), 2);
  EXPECT_EQ(Calls("task"), 3);
  EXPECT_EQ(Lines("ran"), 3);
}

TEST_F(RayRunTest, AnotherEngineDoesNotGetWhatMayRunOnRay) {
  Fake("hold");
  bool asked = false;
  listener_.on_progress = [&] {
    if (!std::exchange(asked, true)) kill(getpid(), SIGTERM);
  };
  const Job job = Shell("echo {n} >> ran", 2);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kInterrupted);
  UseFakeSlurm(folder_.path());
  kind_ = ClusterKind::kSlurm;
  const auto refused = TryOnCluster(job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kUnavailable);
  EXPECT_TRUE(refused.error().message.contains("add --on ray --shared")) << refused.error().message;
  kind_ = ClusterKind::kRay;
  Unfake("hold");
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  kind_ = ClusterKind::kSlurm;
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran", 3)).end, RunEnd::kDone) << "nothing is open";
  EXPECT_EQ(Lines("ran"), 3);
  fs::remove_all(folder_ / "slurm");
  kind_ = ClusterKind::kRay;
}

TEST_F(RayRunTest, InterruptedItLetsRunningStepsFinishAndTakesOthersOutOfTheQueue) {
  bool asked = false;
  listener_.on_progress = [&] {
    if (fs::exists(folder_ / "on") && !std::exchange(asked, true)) kill(getpid(), SIGINT);
  };
  Job job = Shell(
      "touch on; until grep -q 'no further steps start' shared/test/array-*/log-1.txt; "
      "do sleep 0.05; done; echo {n} >> ran",
      2);
  job.commands.push_back(job.commands[0]);
  job.commands[1].claim.cpus = 64;  // which no node has
  job.steps[1].command = 1;
  const auto summary = OnCluster(job);
  EXPECT_EQ(summary.end, RunEnd::kInterrupted);
  EXPECT_EQ(summary.counts.done, 1u);
  EXPECT_EQ(Lines("ran"), 1);
}

TEST_F(RayRunTest, SaysWhatNoNodeHas) {
  Job job = Shell("echo {n} >> ran", 1);
  job.commands[0].claim.cpus = 64;
  std::string reason;
  listener_.on_progress_report = [&](const Progress& progress) {
    reason = progress.waiting_reason;
    if (reason.contains("no node has 64 CPU")) kill(getpid(), SIGTERM);
  };
  EXPECT_EQ(OnCluster(job).end, RunEnd::kInterrupted);
  EXPECT_TRUE(reason.contains("1 task in Ray's queue (no node has 64 CPU)")) << reason;
}

TEST_F(RayRunTest, GivesUpOnArraysThatNeverBegin) {
  setenv("REVEZA_RAY_OPTIONS", R"({"num_cpus": "many"})", 1);
  const auto summary = OnCluster(Shell("echo {n} >> ran", 1));
  EXPECT_EQ(summary.end, RunEnd::kFailed);
  EXPECT_EQ(Calls("submit"), 3);
  EXPECT_TRUE(Noted("its task ended 3 times without a result"));
  EXPECT_TRUE(Noted("which ends with \""));
}

TEST_F(RayRunTest, RefusesWrongVariables) {
  const Job job = Shell("echo {n} >> ran", 3);
  for (const auto& [name, value] : {std::pair("REVEZA_RAY_OPTIONS", "[]"),
                                    std::pair("RAY_API_SERVER_ADDRESS", "ray://head:10001")}) {
    const std::string before = getenv(name) == nullptr ? "" : getenv(name);
    setenv(name, value, 1);
    const auto refused = TryOnCluster(job);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Error::Code::kInvalidArgument);
    EXPECT_TRUE(refused.error().message.contains(name)) << refused.error().message;
    if (before.empty()) {
      unsetenv(name);
    } else {
      setenv(name, before.c_str(), 1);
    }
  }
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 3);
}

TEST_F(RayRunTest, AuthenticatesItself) {
  setenv("RAY_AUTH_MODE", "token", 1);
  setenv("RAY_AUTH_TOKEN", "secret-5", 1);
  EXPECT_EQ(OnCluster(Shell("true {n}", 1)).end, RunEnd::kDone);
  EXPECT_GE(Calls("status", "Bearer secret-5"), 1);
}

}  // namespace ray_run_test
}  // namespace reveza::jobs
