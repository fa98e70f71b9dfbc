#include "common/platform/machine.h"

#include <gtest/gtest.h>

#include "common/platform/testing_directory.h"
#include "common/platform/text_file.h"

namespace reveza::platform {
namespace machine_test {

TEST(Machine, ReadsARecordedTree) {
  const TestingDirectory root;
  root.Write("sys/devices/system/cpu/online", "0-7\n");
  root.Write("proc/9/status", "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n");
  const MachineCores cores = ReadMachineCores(9, root.path());
  EXPECT_EQ(cores.online, 8u);
  EXPECT_EQ(cores.allowed, 2u);

  root.Write("proc/meminfo",
             "MemTotal:       1000 kB\nMemAvailable:    400 kB\nSwapTotal:       0 kB\n"
             "CommitLimit:     500 kB\nCommitted_AS:    450 kB\n");
  const CommitState memory = ReadCommitState(root.path());
  EXPECT_EQ(memory.total, 1000 * kKiB);
  EXPECT_EQ(memory.available, 400 * kKiB);
  EXPECT_EQ(memory.committed, 450 * kKiB);
  EXPECT_EQ(memory.commit_limit, 500 * kKiB);
  EXPECT_EQ(memory.swap_total, 0u) << "reported as 0";
  EXPECT_EQ(memory.swap_free, std::nullopt) << "not reported";
  EXPECT_EQ(memory.driver_pages, std::nullopt) << "some counters are missing";

  root.Write("proc/sys/vm/max_map_count", "65530\n");
  root.Write("proc/sys/vm/overcommit_memory", "2\n");
  root.Write("proc/sys/kernel/threads-max", "100\n");
  root.Write("proc/loadavg", "0.10 0.20 0.30 2/345 6789\n");
  root.Write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  root.Write("sys/kernel/mm/transparent_hugepage/defrag", "always defer [defer+madvise] never\n");
  const KernelLimits kernel = ReadKernelLimits(root.path());
  EXPECT_EQ(kernel.max_map_count, 65530u);
  EXPECT_EQ(kernel.overcommit, 2u);
  EXPECT_EQ(kernel.threads_max, 100u);
  EXPECT_EQ(kernel.pid_max, std::nullopt);
  EXPECT_EQ(kernel.threads_now, 345u);
  EXPECT_EQ(kernel.huge_pages, "madvise");
  EXPECT_EQ(kernel.huge_page_wait, "defer+madvise");
}

TEST(Machine, ComputesDriverPagesAndReservedHugePages) {
  const TestingDirectory root;
  root.Write("proc/meminfo",
             "MemTotal: 9000 kB\nMemFree: 1000 kB\nActive: 500 kB\nInactive: 500 kB\n"
             "Active(anon): 77 kB\nUnevictable: 300 kB\nAnonHugePages: 64 kB\nSlab: 100 kB\n"
             "KernelStack: 50 kB\nPageTables: 50 kB\nPercpu: 10 kB\nHugePages_Total: 3\n"
             "HugePages_Free: 2\nHugepagesize: 2048 kB\nHugetlb: 6144 kB\n");
  const CommitState memory = ReadCommitState(root.path());
  EXPECT_EQ(memory.driver_pages, 346 * kKiB);
  EXPECT_EQ(memory.unevictable, 300 * kKiB);
  EXPECT_EQ(memory.huge_pages, 64 * kKiB);
  EXPECT_EQ(memory.huge_page_size, 2048 * kKiB);
  EXPECT_EQ(memory.reserved_free, 4096 * kKiB);
}

TEST(Machine, MissingFilesYieldNothing) {
  const TestingDirectory root;
  EXPECT_EQ(ReadMachineCores(0, root.path()).online, std::nullopt);
  EXPECT_EQ(ReadCommitState(root.path()).total, std::nullopt);
  EXPECT_EQ(ReadKernelLimits(root.path()).threads_now, std::nullopt);
}

// These can be opened but not read: a folder, and process memory at address 0.
TEST(TextFile, UnreadableFilesYieldNothing) {
  EXPECT_EQ(ReadText("/"), std::nullopt);
  EXPECT_EQ(ReadText("/proc/self/mem"), std::nullopt);
  const TestingDirectory folder;
  EXPECT_EQ(ReadText(folder / "none"), std::nullopt);
  folder.Write("long", std::string(10'000, 'x'));
  EXPECT_EQ(ReadText(folder / "long"), std::string(10'000, 'x'));
}

TEST(TextFile, MatchesWholeKeys) {
  EXPECT_EQ(NumberOfKey("oom_kill_disable 1\noom_kill 5\n", "oom_kill"), 5u);
  EXPECT_EQ(NumberOfKey("memory max\n", "memory"), std::nullopt);
  EXPECT_EQ(NumberOfKey("", "x"), std::nullopt);
  EXPECT_EQ(Words("  a bc\td\n").size(), 3u);
  EXPECT_EQ(Lines("a\n\nb").size(), 3u);
}

TEST(CpuTicks, SumsAllCoresAndCountsGuestsOnce) {
  TestingDirectory root;
  EXPECT_EQ(ReadCpuTicks(root.path()), std::nullopt);
  root.Write("proc/stat",
             "cpu  100 20 30 1000 50 1 2 3 70 7\n"
             "cpu0 50 10 15 500 25 0 1 1 35 3\n"
             "cpu1 50 10 15 500 25 1 1 2 35 4\n"
             "intr 12345 0 0\nctxt 1\n");
  EXPECT_EQ(ReadCpuTicks(root.path()), (CpuTicks{156, 1050, 2, {{77, 525}, {79, 525}}}));
}

TEST(CpuTicks, RejectsMalformedText) {
  TestingDirectory root;
  root.Write("proc/stat", "cpu  100 20\ncpu0 50 10\n");
  EXPECT_EQ(ReadCpuTicks(root.path()), std::nullopt);
  root.Write("proc/stat", "hello\n");
  EXPECT_EQ(ReadCpuTicks(root.path()), std::nullopt);
}

TEST(CpuTicks, ReadsThisMachine) {
  const auto ticks = ReadCpuTicks();
  ASSERT_TRUE(ticks);
  EXPECT_GT(ticks->cores, 0u);
  EXPECT_GT(ticks->busy + ticks->idle, 0u);
}

TEST(Load, ReadsThreeAverages) {
  TestingDirectory root;
  EXPECT_EQ(ReadLoad(root.path()), std::nullopt);
  root.Write("proc/loadavg", "2.43 2.08 1.70 3/93 32050\n");
  EXPECT_EQ(ReadLoad(root.path()), (std::array<double, 3>{2.43, 2.08, 1.70}));
}

TEST(MachineMemory, MissingSwapIsNotZeroSwap) {
  TestingDirectory root;
  EXPECT_EQ(ReadMachineMemory(root.path()), std::nullopt);
  root.Write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\n");
  EXPECT_EQ(ReadMachineMemory(root.path()), std::nullopt) << "a kernel without MemAvailable";
  root.Write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nHugePages_Total: 0\n");
  EXPECT_EQ(ReadMachineMemory(root.path()),
            (MachineMemory{1000 * kKiB, 600 * kKiB, std::nullopt, std::nullopt}));
  root.Write("proc/meminfo",
             "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
  EXPECT_EQ(ReadMachineMemory(root.path())->swap_total, Bytes{0});
}

constexpr char kMeminfo[] = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    600 kB\n";

TEST(AvailableMemory, ReadsMemAvailable) {
  TestingDirectory root;
  EXPECT_EQ(ReadCommitState(root.path()).available, std::nullopt);
  root.Write("proc/meminfo", kMeminfo);
  EXPECT_EQ(ReadCommitState(root.path()).available, 600 * kKiB);
}

TEST(AvailableMemory, ReadsThisMachine) { EXPECT_GT(ReadCommitState().available.value_or(0), 0u); }

TEST(CgroupHeadroom, Version2UsesTheTightestAncestor) {
  TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/user/job\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), std::nullopt);
  root.Write("sys/fs/cgroup/user/job/memory.max", "max\n");
  root.Write("sys/fs/cgroup/user/job/memory.current", "100\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), std::nullopt) << "no limit";
  root.Write("sys/fs/cgroup/user/memory.max", "1000\n");
  root.Write("sys/fs/cgroup/user/memory.current", "400\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 600u) << "the limit of the parent";
  root.Write("sys/fs/cgroup/user/job/memory.max", "300\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 200u) << "the tighter of the two";
  root.Write("sys/fs/cgroup/user/job/memory.stat", "anon 40\ninactive_file 60\nfile 70\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 260u) << "page cache is reclaimable";
}

TEST(CgroupHeadroom, IsZeroAboveTheLimit) {
  TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/memory.max", "100\n");
  root.Write("sys/fs/cgroup/memory.current", "150\n");
  EXPECT_EQ(CgroupHeadroom(root.path()), 0u);
}

TEST(CgroupHeadroom, ReadsVersion1Files) {
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

TEST(MemoryHeadroom, IsTheSmallerOfTheKnownValues) {
  TestingDirectory root;
  EXPECT_EQ(MemoryHeadroom(root.path()), std::nullopt);
  root.Write("proc/meminfo", kMeminfo);
  EXPECT_EQ(MemoryHeadroom(root.path()), 600 * kKiB);
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/memory.max", "100\n");
  root.Write("sys/fs/cgroup/memory.current", "40\n");
  EXPECT_EQ(MemoryHeadroom(root.path()), 60u);
}

}  // namespace machine_test
}  // namespace reveza::platform
