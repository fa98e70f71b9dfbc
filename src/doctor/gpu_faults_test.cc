// The signs that managed memory goes back and forth.
#include <gtest/gtest.h>

#include <algorithm>

#include "doctor/checks.h"
#include "doctor/gpus.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

using platform::TestingDirectory;

// A card of 16 GiB of which half is used, without traffic.
GpusSeen One() {
  GpusSeen seen;
  seen.set_up.gpus.resize(1);
  seen.readings.resize(1);
  seen.readings[0].total = 16 * kGiB;
  seen.readings[0].used = 8 * kGiB;
  seen.activities.resize(1);
  seen.fault_cpus = 0.0;
  return seen;
}

Finding Judge(const GpusSeen& seen) {
  const auto found = JudgeFaults(seen);
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? Finding{} : found[0];
}

TEST(Faults, WithoutAGpuAreNoMatter) { EXPECT_TRUE(JudgeFaults({}).empty()); }

TEST(Faults, AreFineWhereTheDriverHasNoneToServe) {
  const auto finding = Judge(One());
  EXPECT_EQ(finding.id, Id::kUvmFaults);
  EXPECT_EQ(finding.severity, Severity::kFine);
}

TEST(Faults, ThatTheDriverIsBusyWithAreAWarning) {
  GpusSeen seen = One();
  seen.fault_cpus = 0.4;
  seen.managed = {{"train (pid 5)", 9 * kGiB}};
  const auto finding = Judge(seen);
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.sure, Sureness::kMeasured);
  EXPECT_NE(finding.observed.find("40 % of a CPU; train (pid 5) has 9 GiB of managed memory"),
            std::string::npos)
      << finding.observed;
  EXPECT_NE(finding.fix.find("cudaMemPrefetchAsync"), std::string::npos);
}

TEST(Faults, ThatCannotBeSeenAreNotKnown) {
  GpusSeen seen = One();
  seen.fault_cpus.reset();
  const auto finding = Judge(seen);
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_EQ(finding.observed.find('0'), std::string::npos) << finding.observed;
}

// In a container, from the other side: a full card, and both directions of the link busy.
TEST(Faults, ShowInTheTrafficOfAFullCard) {
  GpusSeen seen = One();
  seen.fault_cpus.reset();
  seen.readings[0].used = 16 * kGiB - kMiB;
  seen.activities[0].link_in = 3e9;
  seen.activities[0].link_out = 2e9;
  EXPECT_EQ(Judge(seen).severity, Severity::kNote) << "nobody has managed memory";
  seen.managed = {{"a", 100 * kMiB}, {"train (pid 5)", 10 * kGiB}};
  const auto finding = Judge(seen);
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.sure, Sureness::kLikely);
  seen.activities[0].link_out = 1e6;
  EXPECT_EQ(Judge(seen).severity, Severity::kNote) << "only data coming in";
  seen.activities[0].link_out = 2e9;
  seen.readings[0].used = 4 * kGiB;
  EXPECT_EQ(Judge(seen).severity, Severity::kNote) << "a card with room";
  seen.readings[0].used = 16 * kGiB;
  seen.fault_cpus = 0.01;
  EXPECT_EQ(Judge(seen).severity, Severity::kFine) << "the driver serves no faults";
  seen.fault_cpus.reset();
  seen.managed = {{"a", 100 * kMiB}};
  EXPECT_EQ(Judge(seen).severity, Severity::kNote) << "what CUDA itself maps";
}

TEST(Faults, AreLikelyWithMoreManagedMemoryThanTheCardHas) {
  GpusSeen seen = One();
  seen.managed = {{"train (pid 5)", 16 * kGiB}};
  EXPECT_EQ(Judge(seen).severity, Severity::kFine);
  seen.managed = {{"train (pid 5)", 17 * kGiB}};
  const auto finding = Judge(seen);
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.sure, Sureness::kLikely);
  EXPECT_EQ(finding.limit, "16 GiB: the largest card");
}

// The driver's threads before and after, and who has mapped what, from the files.
TEST(Faults, AreReadFromTheFiles) {
  const TestingDirectory root;
  root.Write("proc/77/stat", "77 (UVM GPU1 BH) S 2 0 0 0 0 0 0 0 0 0 5 5 0 0 20 0 1 0 9 0 0 0\n");
  root.Write("proc/103/maps", "10000000000-10080000000 rw-s 0 00:06 9 /dev/nvidia-uvm\n");
  Subject subject;
  subject.root = root.path();
  subject.nvml = REVEZA_TESTING_NVML;
  const auto found = CheckGpus(subject);
  const auto finding = std::ranges::find(found, Id::kUvmFaults, &Finding::id);
  ASSERT_NE(finding, found.end());
  EXPECT_EQ(finding->severity, Severity::kWarning) << "2 GiB on a card of 1000 bytes";
  EXPECT_NE(finding->observed.find("use 0 % of a CPU; pid 103 has 2 GiB"), std::string::npos)
      << finding->observed;
}

}  // namespace
}  // namespace reveza::doctor
