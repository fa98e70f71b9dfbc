#include "platform/host_memory.h"

#include <gtest/gtest.h>

#include "platform/testing_directory.h"

namespace reveza::platform {
namespace {

constexpr char kMeminfo[] = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    600 kB\n";

TEST(AvailableMemory, IsWhatTheKernelSays) {
  TestingDirectory root;
  EXPECT_EQ(AvailableMemory(root.path()), std::nullopt);
  root.Write("proc/meminfo", kMeminfo);
  EXPECT_EQ(AvailableMemory(root.path()), 600 * kKiB);
}

TEST(AvailableMemory, OfThisMachineIsKnown) { EXPECT_GT(AvailableMemory().value_or(0), 0u); }

TEST(CgroupHeadroom, VersionTwoWalksUpward) {
  TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/user/job\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), std::nullopt);
  root.Write("sys/fs/cgroup/user/job/memory.max", "max\n");
  root.Write("sys/fs/cgroup/user/job/memory.current", "100\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), std::nullopt) << "no limit";
  root.Write("sys/fs/cgroup/user/memory.max", "1000\n");
  root.Write("sys/fs/cgroup/user/memory.current", "400\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 600u) << "the limit of the group above";
  root.Write("sys/fs/cgroup/user/job/memory.max", "300\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 200u) << "the tighter of the two";
  root.Write("sys/fs/cgroup/user/job/memory.stat", "anon 40\ninactive_file 60\nfile 70\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 260u) << "page cache can be dropped";
}

TEST(CgroupHeadroom, OverTheLimitIsNothing) {
  TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/memory.max", "100\n");
  root.Write("sys/fs/cgroup/memory.current", "150\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 0u);
}

TEST(CgroupHeadroom, VersionOneHasItsOwnNames) {
  TestingDirectory root;
  root.Write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:hugetlb,memory:/a/b\n0::/a\n");
  root.Write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  root.Write("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "5\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), std::nullopt);
  root.Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "500\n");
  root.Write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "100\n");
  root.Write("sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 30\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 430u);
}

TEST(MemoryHeadroom, IsTheSmallerOfWhatIsKnown) {
  TestingDirectory root;
  EXPECT_EQ(MemoryHeadroom(root.path()), std::nullopt);
  root.Write("proc/meminfo", kMeminfo);
  EXPECT_EQ(MemoryHeadroom(root.path()), 600 * kKiB);
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/memory.max", "100\n");
  root.Write("sys/fs/cgroup/memory.current", "40\n");
  EXPECT_EQ(MemoryHeadroom(root.path()), 60u);
}

}  // namespace
}  // namespace reveza::platform
