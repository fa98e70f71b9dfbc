// Jobs on a Kubernetes of a script. What does not depend on the engine is in engine_run_test.cc and
// cluster_run_test.cc.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "reveza/jobs/cluster/cluster_run.h"
#include "reveza/jobs/cluster/testing_cluster.h"

namespace reveza::jobs {
namespace kubernetes_run_test {

class KubernetesRunTest : public ClusterTest {
 protected:
  KubernetesRunTest() : ClusterTest(ClusterKind::kKubernetes) {}

  // Returns an attempt that has its pod killed; further ones end at once.
  static std::string KillPod(const std::string& how) {
    return "echo {n} >> ran; [ $REVEZA_ATTEMPT -gt 1 ] || { echo " + how +
           " > $FAKE_KUBERNETES/kill-pod; sleep 600; }";
  }
  // Returns whether the command line of a process has this path in the folder.
  bool SomeProcessHas(const std::string& path) const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      const std::string line(std::istreambuf_iterator<char>(file), {});
      if (line.contains((folder_ / path).string())) return true;
    }
    return false;
  }
  // Runs a job until progress says this, and then ends the runner. Returns what it says last.
  std::string WhatIsSaid(const Job& job, const std::string& text) {
    std::string said;
    listener_.on_progress_report = [&](const Progress& progress) {
      said = progress.waiting_reason;
      if (said.contains(text)) kill(getpid(), SIGTERM);
    };
    EXPECT_EQ(OnCluster(job).end, RunEnd::kInterrupted);
    listener_.on_progress_report = nullptr;
    return said;
  }
};

TEST_F(KubernetesRunTest, ClaimsBecomeRequestsAndLimits) {
  Job job = Shell("echo {n} >> ran", 2);
  job.commands[0].claim = {.cpus = 1.5, .memory = kGiB, .gpu_memory = {}};
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Calls("container 2", R"("cpu": "2")"), 1);
  EXPECT_EQ(Calls("container 2", R"("limits": {"memory": "1342177280"})"), 1) << "as on Slurm";
}

TEST_F(KubernetesRunTest, StepsOfAPodOutOfMemoryComeBackWithALargerClaim) {
  Job job = Shell(KillPod("OOMKilled"), 1);
  job.commands[0].claim.memory = 100 * kMiB;
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(Calls("container", fmt::format(R"("limits": {{"memory": "{}"}})", 208 * kMiB)), 1);
  EXPECT_EQ(Calls("container", fmt::format(R"("limits": {{"memory": "{}"}})", 384 * kMiB)), 1);
}

TEST_F(KubernetesRunTest, TheMemoryOfStepsThatClaimedNoneIsLearned) {
  // kubelet evicts what has more than it asked for when the node is full.
  EXPECT_EQ(OnCluster(Shell(KillPod("Evicted"), 1)).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
  EXPECT_EQ(Calls("container", R"("memory")"), 1) << "the second time";
  EXPECT_EQ(Submits(), 2);
}

TEST_F(KubernetesRunTest, StepsOfKilledPodsRunAgain) {
  listener_.on_note = [&](std::string_view note) {
    // What a killed runner leaves may be alive for all that home knows.
    if (note.contains("but processes of it are alive")) SilenceRunners();
  };
  for (const char* how : {"Error", "NodeLost", "Deleted"}) {
    std::filesystem::remove_all(folder_ / "jobs");
    std::filesystem::remove_all(folder_ / "shared");
    std::filesystem::remove(folder_ / "ran");
    EXPECT_EQ(OnCluster(Shell(KillPod(how), 1)).end, RunEnd::kDone) << how;
    EXPECT_EQ(Lines("ran"), 2) << how;
    EXPECT_EQ(Noted("but processes of it are alive"), std::string(how) != "Error")
        << "of a container that has ended its node says so";
  }
}

TEST_F(KubernetesRunTest, APodThatStartsLateRunsNothing) {
  // Its node and the API server had lost sight of each other.
  Fake("late-node");
  EXPECT_EQ(OnCluster(Shell("echo {n} >> ran", 1)).end, RunEnd::kDone);
  EXPECT_EQ(Submits(), 2);
  Unfake("late");
  for (int i = 0; i < 600 && !Text("shared/test/array-1/log-1.txt").contains("too late"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(Text("shared/test/array-1/log-1.txt").contains("starts too late"));
  EXPECT_EQ(Lines("ran"), 1);
}

TEST_F(KubernetesRunTest, APodWhoseRunnerDoesNotStartLeavesNothing) {
  program_ = "/nowhere/reveza";
  OnCluster(Shell("echo {n} >> ran", 8));
  EXPECT_GT(Submits(), 0);
  const std::string tasks = "shared/test/array-";
  for (int i = 0; i < 600 && SomeProcessHas(tasks); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_FALSE(SomeProcessHas(tasks));
}

TEST_F(KubernetesRunTest, SaysWhatTheSchedulerSays) {
  Fake("hold");
  const Job job = Shell("echo {n} >> ran", 1);
  EXPECT_EQ(WhatIsSaid(job, "Unschedulable"),
            "1 task in Kubernetes's queue (Unschedulable: 0/1 nodes are available: 1 Insufficient "
            "memory.)");
  Unfake("hold");
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
}

TEST_F(KubernetesRunTest, SaysThatAQuotaIsExceeded) {
  Fake("quota");
  const Job job = Shell("echo {n} >> ran", 2);
  EXPECT_TRUE(WhatIsSaid(job, "quota").contains("FailedCreate: pods is forbidden: exceeded quota"));
  Unfake("quota");
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Submits(), 1);
}

TEST_F(KubernetesRunTest, StopsWhileAQuotaHoldsPodsBack) {
  Fake("quota");
  bool asked = false;
  listener_.on_progress_report = [&](const Progress& progress) {
    if (progress.waiting_reason.contains("quota") && !std::exchange(asked, true)) {
      kill(getpid(), SIGINT);
    }
  };
  const Job job = Shell("echo {n} >> ran", 2);
  EXPECT_EQ(OnCluster(job).end, RunEnd::kInterrupted);
  listener_.on_progress_report = nullptr;
  Unfake("quota");  // the pods that are made now run nothing
  EXPECT_EQ(OnCluster(job).end, RunEnd::kDone);
  EXPECT_EQ(Lines("ran"), 2);
}

TEST_F(KubernetesRunTest, RefusesATemplateThatMakesNoPod) {
  const Job job = Shell("true {n}", 1);
  for (const auto& [text, expected] :
       {std::pair("{", "error parsing"), std::pair(R"({"kind": "Job"})", "kind Pod is needed"),
        std::pair(R"({"kind": "Pod"})", "requires --image")}) {
    std::ofstream(folder_ / "pod.json") << text;
    const auto refused = TryOnCluster(job);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Error::Code::kInvalidArgument);
    EXPECT_TRUE(refused.error().message.contains(expected)) << refused.error().message;
  }
  EXPECT_EQ(Submits(), 0);
}

}  // namespace kubernetes_run_test
}  // namespace reveza::jobs
