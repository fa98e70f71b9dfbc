#include "platform/process_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "platform/testing_directory.h"

namespace reveza::platform {
namespace {

TEST(ProcessLimits, HaveTheUnitsOfSetrlimit) {
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

// As that of a process that ends between the opening and the reading of its file.
TEST(ProcessLimits, WhatTheKernelRefusesToReadIsNothing) {
  const TestingDirectory root;
  std::filesystem::create_directories(root / "proc/7/limits");
  EXPECT_FALSE(ReadProcessLimits(7, root.path()));
}

TEST(ProcessLimits, AreThoseThatTheKernelKnows) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const auto limits = ReadProcessLimits(0);
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->open_files.soft.value_or(RLIM_INFINITY), files.rlim_cur);
}

TEST(ProcessLimits, OfNobodyAreNotFound) {
  const TestingDirectory root;
  const auto limits = ReadProcessLimits(5, root.path());
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().code, Error::Code::kNotFound);
}

TEST(ProcessUse, IsReadFromARecordedTree) {
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

TEST(ProcessPages, AreReadFromARecordedTree) {
  const TestingDirectory root;
  root.Write("proc/5/smaps_rollup",
             "55-7f ---p 0 00:00 0 [rollup]\nRss:  900 kB\nAnonHugePages:  512 kB\n");
  EXPECT_EQ(ReadProcessPages(5, root.path()), (ProcessPages{900 * kKiB, 512 * kKiB}));
  EXPECT_EQ(ReadProcessPages(6, root.path()), ProcessPages{});
}

}  // namespace
}  // namespace reveza::platform
