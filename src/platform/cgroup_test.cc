#include "platform/cgroup.h"

#include <gtest/gtest.h>

#include "platform/testing_directory.h"

namespace reveza::platform {
namespace {

TEST(CountList, CountsRanges) {
  EXPECT_EQ(CountList("0-3,8\n"), 5u);
  EXPECT_EQ(CountList("7"), 1u);
  for (const char* wrong : {"", "\n", "a", "3-1", "1,,2", "1-"}) {
    EXPECT_FALSE(CountList(wrong)) << wrong;
  }
}

TEST(Cgroup, WalksUpwardsInVersion2) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/user.slice/job.scope\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/memory.current", "100\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/memory.events",
             "low 0\nhigh 0\nmax 5\noom 4\noom_kill 3\n");
  root.Write("sys/fs/cgroup/user.slice/memory.max", "1000\n");
  root.Write("sys/fs/cgroup/user.slice/memory.current", "700\n");
  root.Write("sys/fs/cgroup/user.slice/memory.stat", "anon 500\ninactive_file 200\n");
  root.Write("sys/fs/cgroup/user.slice/pids.max", "64\n");
  root.Write("sys/fs/cgroup/user.slice/pids.current", "60\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/pids.max", "512\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/pids.current", "9\n");
  root.Write("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  root.Write("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 1\nnr_periods 10\nnr_throttled 4\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "max 100000\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/cpuset.cpus.effective", "0-2\n");

  const auto memory = ReadCgroupMemory(0, root.path());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->limit, 1000u);
  EXPECT_EQ(memory->used, 500u) << "page cache that can be dropped is not used";
  EXPECT_TRUE(memory->folder.ends_with("user.slice")) << memory->folder;
  EXPECT_EQ(ReadCgroupOutOfMemoryKills(0, root.path()), 3u);
  const auto tasks = ReadCgroupTasks(0, root.path());
  ASSERT_TRUE(tasks);
  EXPECT_EQ(tasks->limit, 64u) << "the one with the least left";
  const auto quota = ReadCgroupQuota(0, root.path());
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 1.5);
  EXPECT_EQ(quota->throttled, 4u);
  EXPECT_EQ(ReadCgroupCpus(0, root.path()), 3u);
}

TEST(Cgroup, KnowsVersion1BesideVersion2) {
  const TestingDirectory root;
  root.Write("proc/7/cgroup",
             "4:memory:/docker/abc\n3:pids:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/x\n");
  root.Write("proc/7/mountinfo",
             "31 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
             "32 31 0:27 /docker/abc /sys/fs/cgroup/memory ro shared:9 - cgroup cgroup rw,memory\n"
             "33 31 0:28 /docker/abc /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n"
             "34 31 0:29 / /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
             "35 31 0:30 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  root.Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1024\n");
  root.Write("sys/fs/cgroup/memory/memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  root.Write("sys/fs/cgroup/pids/pids.max", "max\n");
  root.Write("sys/fs/cgroup/pids/pids.current", "3\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "50000\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");

  const auto place = FindCgroup("memory", 7, root.path());
  ASSERT_TRUE(place);
  EXPECT_EQ(place->version, 1);
  EXPECT_TRUE(place->group.empty()) << "the mount shows the group itself";
  const auto memory = ReadCgroupMemory(7, root.path());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->limit, 4096u);
  EXPECT_EQ(ReadCgroupOutOfMemoryKills(7, root.path()), 2u);
  EXPECT_FALSE(ReadCgroupTasks(7, root.path())) << "max is no limit";
  const auto quota = ReadCgroupQuota(7, root.path());
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 0.5);
  EXPECT_EQ(quota->throttled, std::nullopt);
}

TEST(Cgroup, TakesTheMountWhereTheNameIsOfAnotherWorld) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/../../elsewhere\n");
  root.Write("proc/self/mountinfo", "35 31 0:30 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/memory.max", "77\n");
  root.Write("sys/fs/cgroup/memory.current", "7\n");
  const auto memory = ReadCgroupMemory(0, root.path());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->limit, 77u);
}

TEST(Cgroup, IsNothingWhereThereIsNone) {
  const TestingDirectory root;
  EXPECT_FALSE(FindCgroup("memory", 0, root.path()));
  EXPECT_FALSE(ReadCgroupMemory(0, root.path()));
  EXPECT_FALSE(ReadCgroupTasks(0, root.path()));
  EXPECT_FALSE(ReadCgroupQuota(0, root.path()));
  EXPECT_FALSE(ReadCgroupCpus(0, root.path()));
  EXPECT_FALSE(ReadCgroupOutOfMemoryKills(0, root.path()));
}

}  // namespace
}  // namespace reveza::platform
