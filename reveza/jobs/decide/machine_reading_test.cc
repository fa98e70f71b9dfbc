#include "reveza/jobs/decide/machine_reading.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/platform/process_table.h"
#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace machine_reading_test {

using platform::TestingDirectory;
using std::chrono::seconds;

TEST(ReadMachine, UnreadableValuesAreAbsent) {
  const TestingDirectory root;
  const MachineReading reading = ReadMachine(seconds(3), root.path());
  EXPECT_EQ(reading.now, seconds(3));
  EXPECT_EQ(reading.memory_total, std::nullopt);
  EXPECT_EQ(reading.memory_available, std::nullopt);
  EXPECT_EQ(reading.cgroup_headroom, std::nullopt);
  EXPECT_EQ(reading.memory_some, std::nullopt);
  EXPECT_EQ(reading.memory_full, std::nullopt);
  EXPECT_EQ(reading.gpus, std::nullopt);
  EXPECT_EQ(UsableCores(root.path()), 1);
}

TEST(ReadMachine, TakesTighterOfMachineAndCgroup) {
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
  const MachineReading reading = ReadMachine(seconds(0), root.path());
  EXPECT_EQ(reading.memory_available, 8 * kGiB - kKiB);
  EXPECT_EQ(reading.cgroup_headroom, 3 * kGiB);
  EXPECT_EQ(reading.cgroup_limit, 4 * kGiB);
  EXPECT_EQ(reading.memory_some, 20);
  EXPECT_EQ(reading.memory_full, 3.25);
  root.Write("proc/self/status", "Cpus_allowed_list:\t0-3\n");
  EXPECT_EQ(UsableCores(root.path()), 1.5);
}

// The runner has left the group for one of its own, so that the steps can have groups beside it.
TEST(ReadMachine, TakesPressureOfTheGroupWithTheLimit) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/job/runner\n");
  root.Write("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  root.Write("sys/fs/cgroup/job/memory.max", "1000000000\n");
  root.Write("sys/fs/cgroup/job/memory.current", "900000000\n");
  root.Write("sys/fs/cgroup/job/memory.pressure",
             "some avg10=30.00 avg60=1.00 avg300=0.10 total=1\n"
             "full avg10=10.00 avg60=1.00 avg300=0.10 total=1\n");
  root.Write("sys/fs/cgroup/job/runner/memory.pressure",
             "some avg10=0.00 avg60=1.00 avg300=0.10 total=1\n"
             "full avg10=0.00 avg60=1.00 avg300=0.10 total=1\n");
  const MachineReading reading = ReadMachine(seconds(0), root.path());
  EXPECT_EQ(reading.cgroup_limit, 1'000'000'000u);
  EXPECT_EQ(reading.memory_some, 30);
  EXPECT_EQ(reading.memory_full, 10);
}

TEST(ReadMachine, IgnoresMachinePressureWithAmpleMemory) {
  const TestingDirectory root;
  root.Write("proc/pressure/memory",
             "some avg10=60.00 avg60=1.00 avg300=0.10 total=1\n"
             "full avg10=50.00 avg60=1.00 avg300=0.10 total=1\n");
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_full, 50) << "available memory is unknown";
  root.Write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n");
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_some, std::nullopt);
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_full, std::nullopt);
  root.Write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 499 kB\n");
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_some, 60);
  EXPECT_EQ(ReadMachine(seconds(0), root.path()).memory_full, 50);
}

TEST(GpuMemoryOf, SkipsUnreadableGpus) {
  std::vector<nvml::GpuReading> gpus;
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

using platform::CpuTicks;
using std::chrono::milliseconds;

// CPU seconds of a machine with `cores` cores.
CpuTicks Busy(double busy_seconds, unsigned cores) {
  return {
      static_cast<std::uint64_t>(busy_seconds * static_cast<double>(platform::TicksPerSecond())), 0,
      cores};
}

TEST(ExternalLoad, IsMachineTimeMinusOwnTime) {
  ExternalLoad load;
  load.Update(seconds(10), Busy(100, 4), seconds(50));
  EXPECT_EQ(load.busy(), std::nullopt);
  EXPECT_EQ(load.BusyBeyond(4), std::nullopt);
  load.Update(seconds(12), Busy(107, 4), seconds(53));
  EXPECT_DOUBLE_EQ(*load.busy(), 2);  // 7 in all minus 3 of ours, in two seconds
  EXPECT_DOUBLE_EQ(*load.BusyBeyond(4), 2);
}

TEST(ExternalLoad, CountsOnlyUsableCores) {
  ExternalLoad load;
  load.Update(seconds(0), Busy(0, 64), seconds(0));
  load.Update(seconds(1), Busy(10, 64), seconds(0));
  EXPECT_EQ(load.BusyBeyond(8), 0);
  EXPECT_EQ(load.BusyBeyond(54), 0);
  EXPECT_DOUBLE_EQ(*load.BusyBeyond(60), 6);
}

TEST(ExternalLoad, IgnoresLessThanHalfACore) {
  ExternalLoad load;
  load.Update(seconds(0), Busy(0, 2), seconds(0));
  load.Update(seconds(10), Busy(4, 2), seconds(0));
  EXPECT_DOUBLE_EQ(*load.busy(), 0.4);
  EXPECT_EQ(load.BusyBeyond(2), 0);
}

TEST(ExternalLoad, IsNonNegativeAndSkipsShortIntervals) {
  ExternalLoad load;
  load.Update(seconds(0), Busy(0, 2), seconds(0));
  load.Update(milliseconds(100), Busy(2, 2), seconds(0));
  EXPECT_EQ(load.busy(), std::nullopt);
  load.Update(seconds(1), Busy(1, 2), seconds(3));  // a finished step counts as a whole
  EXPECT_EQ(load.busy(), 0);
}

TEST(ExternalLoad, ReadsProcStat) {
  const platform::TestingDirectory root;
  ExternalLoad load;
  const auto look = [&](int second, const char* first_line) {
    root.Write("proc/stat", std::string(first_line) + "\ncpu0 1 0 0 0 0\ncpu1 1 0 0 0 0\n");
    const auto ticks = platform::ReadCpuTicks(root.path());
    ASSERT_TRUE(ticks);
    load.Update(seconds(second), *ticks, seconds(0));
  };
  look(0, "cpu 1000 0 500 9000 0 0 0 0");
  const auto two_seconds = 2 * platform::TicksPerSecond();
  look(2, ("cpu " + std::to_string(1000 + two_seconds) + " 0 500 9000 0 0 0 0").c_str());
  EXPECT_DOUBLE_EQ(load.busy().value_or(-1), 1);
}

TEST(ExternalLoad, OwnLoadDoesNotCount) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) getppid();
  }
  platform::ProcessReader reader;
  const auto of_child = [&] {
    const auto stat = reader.Stat(child);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(
        stat ? static_cast<double>(stat->user_ticks + stat->system_ticks) /
                   static_cast<double>(platform::TicksPerSecond())
             : 0));
  };
  ExternalLoad with;
  ExternalLoad without;
  const auto look = [&] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto ours = of_child();
    const auto ticks = platform::ReadCpuTicks();
    ASSERT_TRUE(ticks);
    with.Update(now, *ticks, {});
    without.Update(now, *ticks, ours);
  };
  look();
  const auto before = of_child();
  while (of_child() - before < milliseconds(800)) usleep(50'000);
  look();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(with.busy() && without.busy());
  EXPECT_LT(*without.busy(), *with.busy());
}

}  // namespace machine_reading_test
}  // namespace reveza::jobs
