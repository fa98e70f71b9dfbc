#include "runner/decide/machine_reading.h"

#include <gtest/gtest.h>

#include "platform/testing_directory.h"

namespace reveza::runner {
namespace {

using platform::TestingDirectory;
using std::chrono::seconds;

TEST(ReadMachine, SaysNothingWhereNothingCanBeRead) {
  const TestingDirectory root;
  const Reading reading = ReadMachine(seconds(3), root.path());
  EXPECT_EQ(reading.now, seconds(3));
  EXPECT_EQ(reading.memory_total, std::nullopt);
  EXPECT_EQ(reading.memory_available, std::nullopt);
  EXPECT_EQ(reading.cgroup_headroom, std::nullopt);
  EXPECT_EQ(reading.memory_some, std::nullopt);
  EXPECT_EQ(reading.memory_full, std::nullopt);
  EXPECT_EQ(reading.gpus, std::nullopt);
  EXPECT_EQ(UsableCores(root.path()), 1);
}

TEST(ReadMachine, TakesMemoryAndPressureTheTighterOfMachineAndCgroup) {
  const TestingDirectory root;
  root.Write(
      "proc/meminfo",
      "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388607 kB\n");
  root.Write("proc/pressure/memory",
             "some avg10=12.50 avg60=1.00 avg300=0.10 total=1\n"
             "full avg10=3.25 avg60=1.00 avg300=0.10 total=1\n");
  root.Write("proc/self/cgroup", "0::/job\n");
  root.Write("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  root.Write("sys/fs/cgroup/job/memory.max", "4294967296\n");
  root.Write("sys/fs/cgroup/job/memory.current", "1073741824\n");
  root.Write("sys/fs/cgroup/job/memory.pressure",
             "some avg10=20.00 avg60=1.00 avg300=0.10 total=1\n"
             "full avg10=1.00 avg60=1.00 avg300=0.10 total=1\n");
  root.Write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  const Reading reading = ReadMachine(seconds(0), root.path());
  EXPECT_EQ(reading.memory_available, 8 * kGiB - kKiB);
  EXPECT_EQ(reading.cgroup_headroom, 3 * kGiB);
  EXPECT_EQ(reading.memory_total, 4 * kGiB);
  EXPECT_EQ(reading.memory_some, 20);
  EXPECT_EQ(reading.memory_full, 3.25);
  root.Write("proc/self/status", "Cpus_allowed_list:\t0-3\n");
  EXPECT_EQ(UsableCores(root.path()), 1.5);
}

TEST(ReadMachine, WhoWaitsAtALimitOfItsOwnIsNotTheMachine) {
  const TestingDirectory root;
  root.Write("proc/pressure/memory",
             "some avg10=60.00 avg60=1.00 avg300=0.10 total=1\n"
             "full avg10=50.00 avg60=1.00 avg300=0.10 total=1\n");
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_full, 50) << "nobody knows what is free";
  root.Write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n");
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_some, std::nullopt);
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_full, std::nullopt);
  root.Write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 499 kB\n");
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_some, 60);
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_full, 50);
}

TEST(GpuMemoryOf, KeepsWhatIsKnown) {
  std::vector<platform::GpuReading> gpus;
  EXPECT_EQ(GpuMemoryOf(gpus)->size(), 0);
  gpus.emplace_back();
  gpus[0].total = kGiB;
  EXPECT_FALSE(GpuMemoryOf(gpus).has_value());
  gpus.emplace_back();
  gpus[1].total = 2 * kGiB;
  gpus[1].used = kMiB;
  const auto known = GpuMemoryOf(gpus);
  ASSERT_EQ(known->size(), 1);
  EXPECT_EQ((*known)[0].total, 2 * kGiB);
  EXPECT_EQ((*known)[0].used, kMiB);
}

}  // namespace
}  // namespace reveza::runner
