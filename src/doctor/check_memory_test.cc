#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "doctor/checks.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

using platform::TestingDirectory;

std::optional<Finding> Of(const Findings& findings, Id id) {
  const auto found = std::ranges::find(findings, id, &Finding::id);
  if (found == findings.end()) return std::nullopt;
  return *found;
}

std::optional<Severity> SeverityOf(const Findings& findings, Id id) {
  const auto found = Of(findings, id);
  if (!found) return std::nullopt;
  return found->severity;
}

Subject At(const TestingDirectory& root) {
  Subject subject;
  subject.root = root.path();
  return subject;
}

TEST(Overcommit, MattersOnlyWhenNothingMayBePromisedTwice) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/overcommit_memory", "0\n");
  root.Write("proc/meminfo", "CommitLimit: 1000 kB\nCommitted_AS: 990 kB\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kOvercommit), Severity::kFine);
  root.Write("proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kOvercommit), Severity::kFatal);
  root.Write("proc/meminfo", "CommitLimit: 1000 kB\nCommitted_AS: 100 kB\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kOvercommit), Severity::kWarning);
}

TEST(Swap, NoneIsANoteAndFullAWarning) {
  const TestingDirectory root;
  root.Write("proc/meminfo", "SwapTotal: 0 kB\nSwapFree: 0 kB\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kSwap), Severity::kNote);
  root.Write("proc/meminfo", "SwapTotal: 1000 kB\nSwapFree: 20 kB\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kSwap), Severity::kWarning);
  root.Write("proc/meminfo", "SwapTotal: 1000 kB\nSwapFree: 900 kB\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kSwap), Severity::kFine);
  const TestingDirectory empty;
  EXPECT_EQ(SeverityOf(CheckMemory(At(empty)), Id::kSwap), std::nullopt) << "not known is not none";
}

TEST(PinnedMemory, IsAWarningFromHalfOfTheMachinesOn) {
  const TestingDirectory root;
  const auto memory = [&](const char* free, const char* unevictable) {
    root.Write("proc/meminfo",
               std::string("MemTotal: 8388608 kB\nActive: 0 kB\nInactive: 0 kB\nSlab: 0 kB\n"
                           "KernelStack: 0 kB\nPageTables: 0 kB\nMemFree: ") +
                   free + "\nUnevictable: " + unevictable + "\n");
    return Of(CheckMemory(At(root)), Id::kPinnedMemory);
  };
  EXPECT_EQ(memory("6291456 kB", "1048576 kB")->severity, Severity::kFine);
  const auto much = memory("3145728 kB", "1048576 kB");
  ASSERT_TRUE(much);
  EXPECT_EQ(much->severity, Severity::kWarning);
  EXPECT_EQ(much->sure, Sureness::kLikely);
  EXPECT_EQ(much->observed,
            "of the machine's memory 1 GiB are locked by programs and about 4 GiB are taken by "
            "drivers, memory pinned for GPUs included");
  EXPECT_EQ(much->limit, "8 GiB of memory");
  root.Write("proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1 kB\n");
  EXPECT_EQ(Of(CheckMemory(At(root)), Id::kPinnedMemory), std::nullopt) << "not known is not 0";
}

TEST(Cgroups, AreJudgedByWhatIsLeft) {
  const TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("proc/self/status", "Cpus_allowed_list:\t0-7\n");
  root.Write("sys/devices/system/cpu/online", "0-7\n");
  root.Write("sys/fs/cgroup/memory.max", "10737418240\n");
  root.Write("sys/fs/cgroup/memory.current", "1073741824\n");
  root.Write("sys/fs/cgroup/pids.max", "5000\n");
  root.Write("sys/fs/cgroup/pids.current", "10\n");
  root.Write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  auto found = CheckCgroups(At(root));
  EXPECT_EQ(SeverityOf(found, Id::kCgroupMemory), Severity::kFine);
  EXPECT_EQ(SeverityOf(found, Id::kCgroupPids), Severity::kFine);
  EXPECT_EQ(SeverityOf(found, Id::kCgroupCpu), Severity::kNote) << "less than seen, but enough";
  EXPECT_EQ(SeverityOf(found, Id::kCpuset), Severity::kFine);

  root.Write("sys/fs/cgroup/memory.current", "10700000000\n");
  root.Write("sys/fs/cgroup/pids.max", "40\n");
  root.Write("sys/fs/cgroup/cpu.stat", "nr_periods 100\nnr_throttled 60\n");
  root.Write("proc/self/status", "Cpus_allowed_list:\t0-1\n");
  found = CheckCgroups(At(root));
  EXPECT_EQ(SeverityOf(found, Id::kCgroupMemory), Severity::kFatal);
  EXPECT_EQ(SeverityOf(found, Id::kCgroupPids), Severity::kWarning);
  EXPECT_EQ(SeverityOf(found, Id::kCgroupCpu), Severity::kWarning);
  EXPECT_EQ(Of(found, Id::kCgroupCpu)->fix.substr(0, 17), "OMP_NUM_THREADS=2");
  EXPECT_EQ(SeverityOf(found, Id::kCpuset), Severity::kNote);
}

TEST(Pressure, IsJudgedByTheLastMinute) {
  const TestingDirectory root;
  EXPECT_EQ(SeverityOf(CheckPressure(At(root)), Id::kPressure), Severity::kNote) << "none is known";
  const auto write = [&](const char* name, const char* some, const char* full) {
    root.Write(std::string("proc/pressure/") + name,
               std::string("some avg10=1.00 avg60=") + some + " avg300=0.00 total=5\nfull " +
                   "avg10=1.00 avg60=" + full + " avg300=0.00 total=5\n");
  };
  write("cpu", "20.00", "0.00");
  write("memory", "30.00", "1.00");
  EXPECT_EQ(Merged(CheckPressure(At(root))).at(0).severity, Severity::kFine);
  write("cpu", "80.00", "0.00");
  EXPECT_EQ(Merged(CheckPressure(At(root))).at(0).severity, Severity::kWarning);
  write("memory", "70.00", "50.00");
  const auto worst = Merged(CheckPressure(At(root))).at(0);
  EXPECT_EQ(worst.severity, Severity::kFatal);
  EXPECT_NE(worst.observed.find("memory in 50.0 %"), std::string::npos) << worst.observed;
}

TEST(CpuShare, IsTheLeastOfAll) {
  const TestingDirectory root;
  EXPECT_EQ(CpuShare(At(root)), std::nullopt);
  root.Write("sys/devices/system/cpu/online", "0-7\n");
  EXPECT_EQ(CpuShare(At(root)), 8.0);
  root.Write("proc/self/status", "Cpus_allowed_list:\t0-3\n");
  EXPECT_EQ(CpuShare(At(root)), 4.0);
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(CpuShare(At(root)), 1.5);
}

}  // namespace
}  // namespace reveza::doctor
