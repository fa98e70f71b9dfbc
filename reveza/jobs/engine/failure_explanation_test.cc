#include "reveza/jobs/engine/failure_explanation.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <fstream>
#include <string>

#include "common/base/bytes.h"
#include "common/platform/testing_directory.h"
#include "reveza/jobs/engine/worker_pool.h"

namespace reveza::jobs {
namespace failure_explanation_test {

class ExplainTest : public testing::Test {
 protected:
  AttemptResult Ended(Outcome outcome, int code) {
    AttemptResult result;
    result.outcome = outcome;
    result.code = code;
    return result;
  }
  void WriteErrors(const std::string& text) { std::ofstream(folder_.path() / "step.err") << text; }
  Explanation Explained(const ActiveAttempt& active, const AttemptResult& result) {
    return Explain(active, result, folder_.path() / "step", refusals_, folder_.path());
  }

  platform::TestingDirectory folder_;
  TaskRefusals refusals_{folder_.path()};
};

TEST(TaskRefusals, AreThoseSinceTheAttemptBegan) {
  const platform::TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/app\n");
  const auto refuse = [&](int count) {
    root.Write("sys/fs/cgroup/app/pids.events", "max " + std::to_string(count) + "\n");
  };
  refuse(3);
  TaskRefusals refusals(root.path());
  const auto met = [&](WallTime since) {
    doctor::Termination death;
    refusals.FillIn(death, since);
    return death.refusals_after.value_or(0) - death.refusals_before.value_or(0);
  };
  EXPECT_EQ(met(1), 0u);
  refuse(5);
  EXPECT_EQ(met(1), 2u);
  EXPECT_EQ(met(1), 2u) << "another one that ran at the same time";
  constexpr WallTime kLater = WallTime{1} << 62;
  EXPECT_EQ(met(kLater), 0u);
  refuse(6);
  EXPECT_EQ(met(2), 1u);
}

TEST_F(ExplainTest, CancellationToFreeMemoryIsOutOfMemory) {
  ActiveAttempt active;
  const auto cancelled = Ended(Outcome::kCancelled, SIGTERM);
  EXPECT_EQ(Explained(active, cancelled).outcome, Outcome::kCancelled);
  active.terminated_for_memory = true;
  EXPECT_EQ(Explained(active, cancelled).outcome, Outcome::kMemory);
}

TEST_F(ExplainTest, GpuOomIsRetriedUnlessTheStepWasAlone) {
  WriteErrors("torch.OutOfMemoryError: CUDA out of memory.\n");
  ActiveAttempt active;
  active.need.gpu_memory = kGiB;
  const auto failed = Ended(Outcome::kFailure, 1);
  EXPECT_EQ(Explained(active, failed).outcome, Outcome::kFailure);
  EXPECT_FALSE(Explained(active, failed).gpu_oom);
  active.gpu_shared = true;
  EXPECT_EQ(Explained(active, failed).outcome, Outcome::kMemory);
  EXPECT_TRUE(Explained(active, failed).gpu_oom);
  active.need.gpu_exclusive = true;
  EXPECT_EQ(Explained(active, failed).outcome, Outcome::kFailure);
}

TEST_F(ExplainTest, UnknownCausesAreNotExplained) {
  const auto explained = Explained({}, Ended(Outcome::kFailure, 1));
  EXPECT_EQ(explained.text, "");
  EXPECT_EQ(explained.outcome, Outcome::kFailure);
}

TEST(PeakMemory, GroupPeakBoundsSamplesUnlessKilledAtTheLimit) {
  ActiveAttempt active;
  AttemptResult result;
  active.peak = 3 * kGiB;
  result.largest_resident = 2 * kGiB;
  EXPECT_EQ(PeakMemory(active, result), 3 * kGiB);
  active.group_end.peak = 2 * kGiB;
  EXPECT_EQ(PeakMemory(active, result), 2 * kGiB);
  active.group_end.peak = 4 * kGiB;
  EXPECT_EQ(PeakMemory(active, result), 3 * kGiB);
  active.group_end.kills = 1;
  active.limit = 4 * kGiB;
  EXPECT_EQ(PeakMemory(active, result), 4 * kGiB);
}

struct DeathEvidenceTest : testing::Test {
  DeathEvidenceTest() { root_.Write("proc/sys/vm/max_map_count", "100\n"); }

  static std::string Limits(const std::string& address_space) {
    return "Limit                     Soft Limit           Hard Limit           Units     \n"
           "Max address space         " +
           address_space + "           unlimited            bytes     \n";
  }
  void Write(const std::string& pid, const std::string& address_space, Bytes kibibytes,
             int mappings) const {
    root_.Write("proc/" + pid + "/limits", Limits(address_space));
    root_.Write("proc/" + pid + "/status",
                "VmPeak: " + std::to_string(kibibytes) + " kB\nThreads: 3\n");
    std::string maps;
    for (int i = 0; i < mappings; ++i) maps += "1000-2000 rw-p 00000000 00:00 0\n";
    root_.Write("proc/" + pid + "/maps", maps);
  }
  doctor::Termination Told() const {
    doctor::Termination death;
    evidence_.FillIn(death);
    return death;
  }

  platform::TestingDirectory root_;
  DeathEvidence evidence_;
};

TEST_F(DeathEvidenceTest, IsEmptyWithoutSamples) {
  evidence_.Sample(std::array{pid_t{7}}, root_.path());
  const auto death = Told();
  EXPECT_FALSE(death.limits);
  EXPECT_FALSE(death.maps);
  EXPECT_EQ(death.use, platform::ProcessUse{});
}

TEST_F(DeathEvidenceTest, ReportsProcessClosestToItsLimit) {
  Write("7", "unlimited", 5'000'000, 9);
  Write("8", "1073741824", 1'000'000, 11);
  evidence_.Sample(std::array{pid_t{7}, pid_t{8}}, root_.path());
  Write("8", "1073741824", 10, 4);
  evidence_.Sample(std::array{pid_t{7}, pid_t{8}}, root_.path());
  const auto death = Told();
  ASSERT_TRUE(death.limits);
  EXPECT_EQ(death.limits->address_space.soft, kGiB);
  EXPECT_EQ(death.use.address_peak, 1'000'000 * kKiB) << "not of the one that has no limit";
  EXPECT_EQ(death.use.threads, 3u);
  EXPECT_EQ(death.maps, 11u);
}

TEST_F(DeathEvidenceTest, CountsMappingsEveryTenthSample) {
  Write("7", "unlimited", 10, 10);
  evidence_.Sample(std::array{pid_t{7}}, root_.path());
  Write("7", "unlimited", 10, 90);
  for (int look = 2; look <= 10; ++look) evidence_.Sample(std::array{pid_t{7}}, root_.path());
  EXPECT_EQ(Told().maps, 10u);
  evidence_.Sample(std::array{pid_t{7}}, root_.path());
  EXPECT_EQ(Told().maps, 90u);
}

TEST_F(DeathEvidenceTest, CombinesLimitsOfDeadAndLiving) {
  evidence_.AddLimits(Limits("2048"));
  EXPECT_EQ(Told().limits->address_space.soft, 2048u);
  Write("7", "1024", 1, 1);
  evidence_.Sample(std::array{pid_t{7}}, root_.path());
  EXPECT_EQ(Told().limits->address_space.soft, 1024u);
  evidence_.AddLimits(Limits("4096"));
  EXPECT_EQ(Told().limits->address_space.soft, 1024u) << "the tightest of all";
}

TEST(GpuOomMessage, FindsLastMatchingLine) {
  EXPECT_EQ(FindGpuOomMessage("Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to "
                              "allocate 2 GiB\nbye\n"),
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB");
  EXPECT_EQ(FindGpuOomMessage("CUDA_ERROR_OUT_OF_MEMORY 1\nCUDA_ERROR_OUT_OF_MEMORY 2"),
            "CUDA_ERROR_OUT_OF_MEMORY 2");
  EXPECT_EQ(FindGpuOomMessage("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"),
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate");
}

TEST(GpuOomMessage, IgnoresOtherOutput) {
  for (const char* text : {"", "\n", "\n\n", "out of memory", "std::bad_alloc\nKilled\n"}) {
    EXPECT_EQ(FindGpuOomMessage(text), std::nullopt) << text;
  }
}

TEST(GpuOomMessage, TruncatesLongLines) {
  const std::string line = "CUDA out of memory " + std::string(5000, 'x');
  EXPECT_EQ(FindGpuOomMessage(line)->size(), 200);
}

}  // namespace failure_explanation_test
}  // namespace reveza::jobs
