#include "platform/machine_load.h"

#include <gtest/gtest.h>

#include "platform/testing_directory.h"

namespace reveza::platform {
namespace {

TEST(CpuTicks, AreOfAllCoresAndCountGuestsOnce) {
  TestingDirectory root;
  EXPECT_EQ(ReadCpuTicks(root.path()), std::nullopt);
  root.Write("proc/stat",
             "cpu  100 20 30 1000 50 1 2 3 70 7\n"
             "cpu0 50 10 15 500 25 0 1 1 35 3\n"
             "cpu1 50 10 15 500 25 1 1 2 35 4\n"
             "intr 12345 0 0\nctxt 1\n");
  EXPECT_EQ(ReadCpuTicks(root.path()), (CpuTicks{156, 1050, 2}));
}

TEST(CpuTicks, OfAnythingElseAreNothing) {
  TestingDirectory root;
  root.Write("proc/stat", "cpu  100 20\ncpu0 50 10\n");
  EXPECT_EQ(ReadCpuTicks(root.path()), std::nullopt);
  root.Write("proc/stat", "hello\n");
  EXPECT_EQ(ReadCpuTicks(root.path()), std::nullopt);
}

TEST(CpuTicks, OfThisMachineAreKnown) {
  const auto ticks = ReadCpuTicks();
  ASSERT_TRUE(ticks);
  EXPECT_GT(ticks->cores, 0u);
  EXPECT_GT(ticks->busy + ticks->idle, 0u);
}

TEST(Load, IsOfOneFiveAndFifteenMinutes) {
  TestingDirectory root;
  EXPECT_EQ(ReadLoad(root.path()), std::nullopt);
  root.Write("proc/loadavg", "2.43 2.08 1.70 3/93 32050\n");
  EXPECT_EQ(ReadLoad(root.path()), (std::array<double, 3>{2.43, 2.08, 1.70}));
}

TEST(MachineMemory, WithoutSwapIsNotWithSwapOfNothing) {
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

}  // namespace
}  // namespace reveza::platform
