#include "platform/machine.h"

#include <gtest/gtest.h>

#include "platform/testing_directory.h"
#include "platform/text_file.h"

namespace reveza::platform {
namespace {

TEST(Machine, IsReadFromARecordedTree) {
  const TestingDirectory root;
  root.Write("sys/devices/system/cpu/online", "0-7\n");
  root.Write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,4\n");
  root.Write("proc/9/status", "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n");
  const MachineCores cores = ReadMachineCores(9, root.path());
  EXPECT_EQ(cores.online, 8u);
  EXPECT_EQ(cores.allowed, 2u);
  EXPECT_EQ(cores.per_core_id, 2u);

  root.Write("proc/meminfo",
             "MemTotal:       1000 kB\nMemAvailable:    400 kB\nSwapTotal:       0 kB\n"
             "CommitLimit:     500 kB\nCommitted_AS:    450 kB\n");
  const CommitState memory = ReadCommitState(root.path());
  EXPECT_EQ(memory.total, 1000 * kKiB);
  EXPECT_EQ(memory.available, 400 * kKiB);
  EXPECT_EQ(memory.committed, 450 * kKiB);
  EXPECT_EQ(memory.commit_limit, 500 * kKiB);
  EXPECT_EQ(memory.swap_total, 0u) << "said to be 0";
  EXPECT_EQ(memory.swap_free, std::nullopt) << "not said";
  EXPECT_EQ(memory.driver_pages, std::nullopt) << "half of what is counted is not said";

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

TEST(Machine, KnowsWhatDriversHaveTakenAndWhatIsSetAside) {
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

TEST(Machine, IsNothingWhereNothingIsSaid) {
  const TestingDirectory root;
  EXPECT_EQ(ReadMachineCores(0, root.path()).online, std::nullopt);
  EXPECT_EQ(ReadCommitState(root.path()).total, std::nullopt);
  EXPECT_EQ(ReadKernelLimits(root.path()).threads_now, std::nullopt);
}

// What opens and cannot be read: a folder, and the memory of a process at address 0.
TEST(TextFile, ThatCannotBeReadIsNothing) {
  EXPECT_EQ(ReadText("/"), std::nullopt);
  EXPECT_EQ(ReadText("/proc/self/mem"), std::nullopt);
  const TestingDirectory folder;
  EXPECT_EQ(ReadText(folder / "none"), std::nullopt);
  folder.Write("long", std::string(10'000, 'x'));
  EXPECT_EQ(ReadText(folder / "long"), std::string(10'000, 'x'));
}

TEST(TextFile, FindsNumbersByWholeKeys) {
  EXPECT_EQ(NumberOfKey("oom_kill_disable 1\noom_kill 5\n", "oom_kill"), 5u);
  EXPECT_EQ(NumberOfKey("memory max\n", "memory"), std::nullopt);
  EXPECT_EQ(NumberOfKey("", "x"), std::nullopt);
  EXPECT_EQ(Words("  a bc\td\n").size(), 3u);
  EXPECT_EQ(Lines("a\n\nb").size(), 3u);
}

}  // namespace
}  // namespace reveza::platform
