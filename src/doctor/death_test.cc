#include "doctor/death.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "base/bytes.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

using platform::TestingDirectory;

Death Abort() {
  Death death;
  death.command = "train";
  death.exit_status = 127;
  death.last_lines = "x\ncannot allocate memory for thread-local data: ABORT\n";
  death.limits.emplace();
  return death;
}

TEST(ThreadLocalData, ComesOfALimitOnAddressSpace) {
  const TestingDirectory root;
  Death death = Abort();
  death.limits->address_space.soft = 8 * kGiB;
  auto finding = ExplainDeath(death, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kThreadLocalData);
  EXPECT_EQ(finding->severity, Severity::kFatal);
  EXPECT_EQ(finding->sure, Sureness::kLikely) << "nobody saw how much it used";
  EXPECT_EQ(finding->limit, "RLIMIT_AS = 8 GiB");
  death.use.address_peak = 8 * kGiB - kMiB;
  finding = ExplainDeath(death, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->sure, Sureness::kMeasured);
}

TEST(ThreadLocalData, ComesOfTooManyMappings) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/max_map_count", "65530\n");
  Death death = Abort();
  death.maps = 65500;
  death.limits->address_space.soft = 100 * kGiB;
  death.use.address_peak = kGiB;
  const auto finding = ExplainDeath(death, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->limit, "vm.max_map_count = 65530") << "what was reached goes before the rest";
}

TEST(ThreadLocalData, ComesOfPromisesThatAreUsedUp) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/overcommit_memory", "2\n");
  root.Write("proc/meminfo", "CommitLimit: 1048576 kB\nCommitted_AS: 1040000 kB\n");
  const auto finding = ExplainDeath(Abort(), root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->limit, "CommitLimit = 1 GiB");
  EXPECT_NE(finding->observed.find("(overcommit)"), std::string::npos);
}

TEST(ThreadLocalData, ComesOfTheMappingsWhereNothingElseIsLimited) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/max_map_count", "65530\n");
  root.Write("proc/sys/vm/overcommit_memory", "0\n");
  Death death = Abort();
  auto finding = ExplainDeath(death, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->sure, Sureness::kLikely) << "nobody has counted them";
  EXPECT_EQ(finding->limit, "vm.max_map_count = 65530");
  EXPECT_NE(finding->observed.find("no other limit was set"), std::string::npos);
  death.limits.reset();
  EXPECT_TRUE(ExplainDeath(death, root.path())->limit.empty()) << "who knows what was limited";
  death.limits.emplace().data.soft = kGiB;
  EXPECT_EQ(ExplainDeath(death, root.path())->limit, "RLIMIT_DATA = 1 GiB");
}

TEST(ThreadLocalData, WithoutALimitNamesThemAll) {
  const TestingDirectory root;
  const auto finding = ExplainDeath(Abort(), root.path());
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->limit.empty());
  EXPECT_NE(finding->fix.find("vm.max_map_count"), std::string::npos);
}

TEST(Killed, CountsOnlyWithEvidence) {
  const TestingDirectory root;
  Death death;
  death.command = "train";
  death.signal = SIGKILL;
  EXPECT_FALSE(ExplainDeath(death, root.path()));
  death.kills_before = 3;
  death.kills_after = 3;
  EXPECT_FALSE(ExplainDeath(death, root.path())) << "somebody else killed it";
  death.kills_after = 4;
  const auto finding = ExplainDeath(death, root.path());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, Id::kOutOfMemoryKill);
  death.signal.reset();
  death.exit_status = 137;
  EXPECT_TRUE(ExplainDeath(death, root.path())) << "as a shell says it";
  death.exit_status = 1;
  EXPECT_FALSE(ExplainDeath(death, root.path()));
}

TEST(NoThread, IsToldFromNoMemory) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/\n");
  Death death;
  death.command = "train";
  death.exit_status = 1;
  death.last_lines = "libgomp: Thread creation failed: Resource temporarily unavailable\n";
  death.limits.emplace();
  EXPECT_EQ(ExplainDeath(death, root.path())->id, Id::kThreadCeiling);
  death.limits->processes.soft = 20;
  EXPECT_EQ(ExplainDeath(death, root.path())->id, Id::kProcessLimit);
  death.limits->address_space.soft = kGiB;
  EXPECT_EQ(ExplainDeath(death, root.path())->id, Id::kAddressSpace);
  root.Write("sys/fs/cgroup/pids.max", "40\n");
  root.Write("sys/fs/cgroup/pids.current", "40\n");
  EXPECT_EQ(ExplainDeath(death, root.path())->id, Id::kCgroupPids);
  death.exit_status = 0;
  EXPECT_FALSE(ExplainDeath(death, root.path())) << "it did not fail";
}

}  // namespace
}  // namespace reveza::doctor
