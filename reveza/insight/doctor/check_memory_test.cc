#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace check_memory_test {

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

TEST(Overcommit, MattersOnlyInMode2) {
  const TestingDirectory root;
  root.Write("proc/sys/vm/overcommit_memory", "0\n");
  root.Write("proc/meminfo", "CommitLimit: 1000 kB\nCommitted_AS: 990 kB\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kOvercommit), Severity::kFine);
  root.Write("proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kOvercommit), Severity::kFatal);
  root.Write("proc/meminfo", "CommitLimit: 1000 kB\nCommitted_AS: 100 kB\n");
  EXPECT_EQ(SeverityOf(CheckMemory(At(root)), Id::kOvercommit), Severity::kWarning);
}

TEST(Swap, NoneIsANoteAndFullIsAWarning) {
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

TEST(PinnedMemory, IsAWarningFromHalfOfTheMemory) {
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
  EXPECT_EQ(much->confidence, Confidence::kLikely);
  EXPECT_EQ(
      much->observed,
      "1 GiB of the machine's memory are locked by programs, and about 4 GiB are allocated by "
      "drivers, including memory pinned for GPUs");
  EXPECT_EQ(much->limit, "8 GiB of memory");
  root.Write("proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1 kB\n");
  EXPECT_EQ(Of(CheckMemory(At(root)), Id::kPinnedMemory), std::nullopt) << "not known is not 0";
}

TEST(Cgroups, AreRatedByTheRemainingShare) {
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

TEST(Pressure, UsesTheLastMinute) {
  const TestingDirectory root;
  EXPECT_EQ(SeverityOf(CheckPressure(At(root)), Id::kPressure), Severity::kNote) << "none is known";
  const auto write = [&](const char* name, const char* some, const char* full) {
    root.Write(std::string("proc/pressure/") + name,
               std::string("some avg10=1.00 avg60=") + some + " avg300=0.00 total=5\nfull " +
                   "avg10=1.00 avg60=" + full + " avg300=0.00 total=5\n");
  };
  write("cpu", "20.00", "0.00");
  write("memory", "30.00", "1.00");
  EXPECT_EQ(MergeFindings(CheckPressure(At(root))).at(0).severity, Severity::kFine);
  write("cpu", "80.00", "0.00");
  EXPECT_EQ(MergeFindings(CheckPressure(At(root))).at(0).severity, Severity::kWarning);
  write("memory", "70.00", "50.00");
  const auto worst = MergeFindings(CheckPressure(At(root))).at(0);
  EXPECT_EQ(worst.severity, Severity::kFatal);
  EXPECT_NE(worst.observed.find("memory for 50.0 %"), std::string::npos) << worst.observed;
}

TEST(CpuShare, IsTheMinimumOfAllLimits) {
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

using platform::TestingDirectory;

class HugePages : public testing::Test {
 protected:
  void Mode(const char* enabled, const char* defrag) {
    root_.Write("sys/kernel/mm/transparent_hugepage/enabled", enabled);
    root_.Write("sys/kernel/mm/transparent_hugepage/defrag", defrag);
  }
  void Process(const char* status, const char* rollup) {
    root_.Write("proc/5/status", status);
    root_.Write("proc/5/smaps_rollup", rollup);
    root_.Write("proc/5/cmdline", std::string("train\0", 6));
    subject_.pid = 5;
  }
  Finding Worst() {
    subject_.root = root_.path();
    const auto found = MergeFindings(CheckHugePages(subject_));
    EXPECT_EQ(found.size(), 1u);
    if (found.empty()) return {};
    EXPECT_EQ(found[0].id, Id::kHugePages);
    return found[0];
  }

  TestingDirectory root_;
  Subject subject_;
};

TEST_F(HugePages, YieldNothingIfUnknown) {
  subject_.root = root_.path();
  EXPECT_TRUE(CheckHugePages(subject_).empty());
}

TEST_F(HugePages, MadviseIsFine) {
  Mode("always [madvise] never\n", "always defer defer+madvise [madvise] never\n");
  root_.Write("proc/meminfo", "MemTotal: 8388608 kB\nAnonHugePages: 2097152 kB\n");
  const auto finding = Worst();
  EXPECT_EQ(finding.severity, Severity::kFine);
  EXPECT_EQ(finding.observed, "transparent huge pages: madvise, defrag: madvise; 2 GiB in use");
}

TEST_F(HugePages, DefragAlwaysIsANote) {
  Mode("[always] madvise never\n", "always defer [defer+madvise] madvise never\n");
  EXPECT_NE(Worst().fix.find("transparent_hugepage/enabled"), std::string::npos);
  Mode("[always] madvise never\n", "[always] defer defer+madvise madvise never\n");
  const auto finding = Worst();
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_NE(finding.why.find("stall"), std::string::npos);
  EXPECT_EQ(finding.fix,
            "echo defer+madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag");
}

TEST_F(HugePages, NeverIsANote) {
  Mode("always madvise [never]\n", "always defer defer+madvise [madvise] never\n");
  const auto finding = Worst();
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_NE(finding.why.find("pinning"), std::string::npos);
}

TEST_F(HugePages, UnusedPreallocatedPagesAreAWarning) {
  Mode("always [madvise] never\n", "[madvise]\n");
  const auto memory = [&](const char* free) {
    root_.Write("proc/meminfo", std::string("MemTotal: 16777216 kB\nHugePages_Total: 1024\n"
                                            "HugePages_Free: ") +
                                    free + "\nHugepagesize: 2048 kB\n");
  };
  memory("100");
  EXPECT_EQ(Worst().severity, Severity::kFine);
  memory("1024");
  const auto finding = Worst();
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.observed, "2 GiB are preallocated in unused huge pages");
  EXPECT_EQ(finding.limit, "16 GiB of memory in all");
  EXPECT_NE(finding.fix.find("vm.nr_hugepages"), std::string::npos);
}

TEST_F(HugePages, CountsThoseOfAProcess) {
  Process("VmSize: 99 kB\nTHP_enabled:\t1\n",
          "0-f ---p 0 0 0 [rollup]\nRss: 4194304 kB\nAnonHugePages: 3145728 kB\n");
  const auto most = Worst();
  EXPECT_EQ(most.severity, Severity::kNote);
  EXPECT_EQ(most.observed, "train (pid 5) has 3 GiB of its 4 GiB in transparent huge pages");
  Process("VmSize: 99 kB\nTHP_enabled:\t1\n",
          "0-f ---p 0 0 0 [rollup]\nRss: 4194304 kB\nAnonHugePages: 2048 kB\n");
  EXPECT_EQ(Worst().severity, Severity::kFine);
  Process("VmSize: 99 kB\nTHP_enabled:\t0\n", "");
  const auto off = Worst();
  EXPECT_EQ(off.severity, Severity::kNote);
  EXPECT_NE(off.limit.find("PR_SET_THP_DISABLE"), std::string::npos);
}

}  // namespace check_memory_test
}  // namespace reveza::doctor
