#include "common/platform/process_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "common/base/bytes.h"
#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace process_limits_test {

TEST(ProcessLimits, UsesTheUnitsOfSetrlimit) {
  const ProcessLimits limits = ParseProcessLimits(
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max data size             unlimited            unlimited            bytes     \n"
      "Max stack size            8388608              unlimited            bytes     \n"
      "Max processes             100                  200                  processes \n"
      "Max open files            1024                 4096                 files     \n"
      "Max locked memory         65536                65536                bytes     \n"
      "Max address space         8589934592           10737418240          bytes     \n");
  EXPECT_EQ(limits.address_space, (Limit{8 * kGiB, 10 * kGiB}));
  EXPECT_EQ(limits.data, (Limit{}));
  EXPECT_EQ(limits.stack, (Limit{8 * kMiB, std::nullopt}));
  EXPECT_EQ(limits.processes, (Limit{100, 200}));
  EXPECT_EQ(limits.open_files, (Limit{1024, 4096}));
  EXPECT_EQ(limits.locked_memory, (Limit{65536, 65536}));
}

// Like the file of a process that exits between open and read.
TEST(ProcessLimits, UnreadableFileYieldsNothing) {
  const TestingDirectory root;
  std::filesystem::create_directories(root / "proc/7/limits");
  EXPECT_FALSE(ReadProcessLimits(7, root.path()));
}

TEST(ProcessLimits, MatchesGetrlimit) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const auto limits = ReadProcessLimits(0);
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->open_files.soft.value_or(RLIM_INFINITY), files.rlim_cur);
}

TEST(ProcessLimits, ReportsAMissingProcess) {
  const TestingDirectory root;
  const auto limits = ReadProcessLimits(5, root.path());
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().code, Error::Code::kNotFound);
}

TEST(ProcessUse, RootAndCapabilitiesAreExemptFromTheProcessLimit) {
  const TestingDirectory root;
  const auto exempt = [&](const std::string& user, const std::string& capabilities) {
    root.Write("proc/5/status", "Uid:\t" + user + "\nCapEff:\t" + capabilities + "\n");
    return ReadProcessUse(5, root.path()).exempt_from_process_limit;
  };
  EXPECT_EQ(exempt("0\t0\t0\t0", "0000000000000000"), true);
  EXPECT_EQ(exempt("1000\t0\t0\t0", "0000000000000000"), false) << "the real user counts";
  EXPECT_EQ(exempt("1000\t1000\t1000\t1000", "0000000001000000"), true);
  EXPECT_EQ(exempt("1000\t1000\t1000\t1000", "0000000000200000"), true);
  root.Write("proc/5/status", "Threads:\t1\n");
  EXPECT_EQ(ReadProcessUse(5, root.path()).exempt_from_process_limit, std::nullopt);
}

TEST(ProcessUse, ReadsARecordedTree) {
  const TestingDirectory root;
  root.Write("proc/5/status",
             "Name:\tx\nVmPeak:\t  300 kB\nVmSize:\t  200 kB\nVmLck:\t 0 kB\nVmPin:\t 8 kB\n"
             "Threads:\t4\nTHP_enabled:\t0\n");
  root.Write("proc/5/fd/0", "");
  root.Write("proc/5/fd/1", "");
  const ProcessUse use = ReadProcessUse(5, root.path());
  EXPECT_EQ(use.address_peak, 300 * kKiB);
  EXPECT_EQ(use.address_space, 200 * kKiB);
  EXPECT_EQ(use.locked, 0u);
  EXPECT_EQ(use.pinned, 8 * kKiB);
  EXPECT_EQ(use.huge_pages_allowed, false);
  EXPECT_EQ(use.data, std::nullopt);
  EXPECT_EQ(use.threads, 4u);
  EXPECT_EQ(use.open_files, 2u);
  EXPECT_EQ(ReadProcessUse(6, root.path()), ProcessUse{});
}

TEST(ProcessPages, ReadsARecordedTree) {
  const TestingDirectory root;
  root.Write("proc/5/smaps_rollup",
             "55-7f ---p 0 00:00 0 [rollup]\nRss:  900 kB\nAnonHugePages:  512 kB\n");
  EXPECT_EQ(ReadProcessPages(5, root.path()), (ProcessPages{900 * kKiB, 512 * kKiB}));
  EXPECT_EQ(ReadProcessPages(6, root.path()), ProcessPages{});
}

TEST(ProcessMaps, ListsEachLibraryOnce) {
  const TestingDirectory root;
  root.Write("proc/5/maps",
             "55d0-55d1 r--p 00000000 08:01 12   /usr/bin/python3.11\n"
             "55d1-55d2 r-xp 00000000 08:01 12   /usr/bin/python3.11\n"
             "7f00-7f01 rw-p 00000000 00:00 0 \n"
             "7f01-7f02 r--p 00000000 08:01 13   /usr/lib/libcuda.so.535.1\n"
             "7f02-7f03 r-xp 00000000 08:01 13   /usr/lib/libcuda.so.535.1\n"
             "7f03-7f04 r-xp 00001000 08:01 13   /usr/lib/libcuda.so.535.1\n"
             "7f05-7f06 r--p 00000000 08:01 14   /usr/lib/libdata.so\n"
             "7f07000000-7f08000000 rw-s 00000000 00:06 15   /dev/nvidia-uvm\n"
             "7f09000000-7f09001000 rw-s 00000000 00:06 15   /dev/nvidia-uvm\n");
  const ProcessMaps maps = ReadProcessMaps(5, root.path()).value_or(ProcessMaps());
  EXPECT_EQ(maps.count, 9u);
  EXPECT_EQ(maps.libraries,
            (std::vector<std::string>{"/usr/bin/python3.11", "/usr/lib/libcuda.so.535.1"}));
  EXPECT_EQ(maps.uvm, 2u);
  EXPECT_EQ(maps.uvm_bytes, 0x1001000u);
  EXPECT_EQ(FindLibrary(maps, "libcuda.so"), "/usr/lib/libcuda.so.535.1");
  EXPECT_EQ(FindLibrary(maps, "lib"), "/usr/lib/libcuda.so.535.1");
  EXPECT_EQ(FindLibrary(maps, "libgomp"), std::nullopt);
}

TEST(ProcessMaps, ContainsLibcForThisProcess) {
  const auto maps = ReadProcessMaps(0);
  ASSERT_TRUE(maps);
  EXPECT_GT(maps->count, 5u);
  EXPECT_TRUE(FindLibrary(*maps, "libc.so"));
  const TestingDirectory none;
  EXPECT_FALSE(ReadProcessMaps(0, none.path()));
}

TEST(ProcessThreads, ReadsARecordedTree) {
  const TestingDirectory root;
  root.Write("proc/5/task/6/stat",
             "6 (a) b) R 1 5 5 0 -1 4194304 9 0 0 0 30 12 0 0 20 0 3 0 77 0 10\n");
  root.Write("proc/5/task/6/status",
             "Name:\ta\nvoluntary_ctxt_switches:\t400\nnonvoluntary_ctxt_switches:\t7\n");
  root.Write("proc/5/task/7/stat", "cut");
  const auto threads = ReadThreads(5, true, 512, root.path());
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0], (ThreadState{6, 'R', 42, 400}));
  EXPECT_EQ(ReadThreads(5, false, 512, root.path()).at(0).waits, std::nullopt);
  EXPECT_TRUE(ReadThreads(5, false, 0, root.path()).empty());
  EXPECT_TRUE(ReadThreads(8, true, 512, root.path()).empty());
}

TEST(ProcessThreads, ReadsThisProcess) {
  const auto threads = ReadThreads(0, true);
  ASSERT_FALSE(threads.empty());
  EXPECT_TRUE(threads[0].waits);
}

}  // namespace process_limits_test
}  // namespace reveza::platform
