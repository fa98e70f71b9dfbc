#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "doctor/checks.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

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
    const auto found = Merged(CheckHugePages(subject_));
    EXPECT_EQ(found.size(), 1u);
    if (found.empty()) return {};
    EXPECT_EQ(found[0].id, Id::kHugePages);
    return found[0];
  }

  TestingDirectory root_;
  Subject subject_;
};

TEST_F(HugePages, AreNotSpokenOfWhereNothingIsKnown) {
  subject_.root = root_.path();
  EXPECT_TRUE(CheckHugePages(subject_).empty());
}

TEST_F(HugePages, OnRequestAreFine) {
  Mode("always [madvise] never\n", "always defer defer+madvise [madvise] never\n");
  root_.Write("proc/meminfo", "MemTotal: 8388608 kB\nAnonHugePages: 2097152 kB\n");
  const auto finding = Worst();
  EXPECT_EQ(finding.severity, Severity::kFine);
  EXPECT_EQ(finding.observed,
            "transparent huge pages: madvise, waits for one: madvise; 2 GiB of memory are in them");
}

TEST_F(HugePages, ThatAreWaitedForMayHoldUpAnAllocation) {
  Mode("[always] madvise never\n", "always defer [defer+madvise] madvise never\n");
  EXPECT_NE(Worst().fix.find("transparent_hugepage/enabled"), std::string::npos);
  Mode("[always] madvise never\n", "[always] defer defer+madvise madvise never\n");
  const auto finding = Worst();
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_NE(finding.why.find("stand still"), std::string::npos);
  EXPECT_EQ(finding.fix,
            "echo defer+madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag");
}

TEST_F(HugePages, ThatAreOffCostTime) {
  Mode("always madvise [never]\n", "always defer defer+madvise [madvise] never\n");
  const auto finding = Worst();
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_NE(finding.why.find("pinning"), std::string::npos);
}

TEST_F(HugePages, SetAsideAndUnusedAreAWarning) {
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
  EXPECT_EQ(finding.observed, "2 GiB are set aside in huge pages that nobody uses");
  EXPECT_EQ(finding.limit, "16 GiB of memory in all");
  EXPECT_NE(finding.fix.find("vm.nr_hugepages"), std::string::npos);
}

TEST_F(HugePages, OfAProcessAreCounted) {
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

}  // namespace
}  // namespace reveza::doctor
