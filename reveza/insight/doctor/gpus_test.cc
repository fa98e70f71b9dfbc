#include "reveza/insight/doctor/gpus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/bytes.h"
#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace gpus_test {

using nvml::ComputeMode;
using platform::TestingDirectory;

std::optional<Finding> Of(const Findings& findings, Id id) {
  const auto merged = MergeFindings(findings);
  const auto found = std::ranges::find(merged, id, &Finding::id);
  if (found == merged.end()) return std::nullopt;
  return *found;
}

std::optional<Severity> Severe(const GpuState& seen, Id id) {
  const auto found = Of(DiagnoseGpus(seen), id);
  if (!found) return std::nullopt;
  return found->severity;
}

GpuState One() {
  GpuState seen;
  seen.inventory.driver = "535.1";
  seen.inventory.gpus.resize(1);
  seen.inventory.gpus[0].name = "Test";
  seen.readings.resize(1);
  seen.activities.resize(1);
  return seen;
}

TEST(Gpus, UnknownSettingsYieldNothing) {
  const GpuState seen = One();
  const auto found = DiagnoseGpus(seen);
  ASSERT_EQ(found.size(), 2u) << "the driver, and that page faults are not known";
  EXPECT_EQ(found[0].id, Id::kGpuDriver);
  EXPECT_EQ(found[1].id, Id::kUvmFaults);
  EXPECT_EQ(found[1].severity, Severity::kNote);
}

TEST(Gpus, ExclusiveModeIsAWarning) {
  GpuState seen = One();
  seen.inventory.gpus[0].compute_mode = ComputeMode::kShared;
  EXPECT_EQ(Severe(seen, Id::kGpuComputeMode), Severity::kFine);
  seen.inventory.gpus[0].compute_mode = ComputeMode::kExclusiveProcess;
  EXPECT_EQ(Severe(seen, Id::kGpuComputeMode), Severity::kWarning);
  seen.mps = true;
  EXPECT_EQ(Severe(seen, Id::kGpuComputeMode), Severity::kFine);
  seen.inventory.gpus[0].compute_mode = ComputeMode::kProhibited;
  EXPECT_EQ(Severe(seen, Id::kGpuComputeMode), Severity::kFatal);
}

TEST(Gpus, LinkIsRatedByLanes) {
  GpuState seen = One();
  auto& gpu = seen.inventory.gpus[0];
  gpu.link_lanes = 16;
  gpu.max_link_lanes = 16;
  gpu.link_generation = 1;
  gpu.max_link_generation = 4;
  EXPECT_EQ(Severe(seen, Id::kGpuLink), Severity::kFine) << "the generation falls when idle";
  gpu.link_lanes = 4;
  const auto found = Of(DiagnoseGpus(seen), Id::kGpuLink);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->severity, Severity::kWarning);
  EXPECT_NE(found->why.find("4.0 times"), std::string::npos) << found->why;
}

TEST(Gpus, SeveralProcessesWithoutMpsAreTimeSliced) {
  GpuState seen = One();
  EXPECT_EQ(Severe(seen, Id::kGpuMps), std::nullopt) << "who uses it is not known";
  seen.readings[0].processes = {{1, kGiB}};
  EXPECT_EQ(Severe(seen, Id::kGpuMps), Severity::kNote);
  seen.readings[0].processes = {{1, kGiB}, {2, std::nullopt}};
  EXPECT_EQ(Severe(seen, Id::kGpuMps), Severity::kWarning);
  seen.mps = true;
  EXPECT_EQ(Severe(seen, Id::kGpuMps), Severity::kFine);
  seen.readings[0].total = 4 * kGiB;
  seen.readings[0].used = 4 * kGiB - kMiB;
  const auto found = Of(DiagnoseGpus(seen), Id::kGpuMemory);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->severity, Severity::kWarning);
  EXPECT_NE(found->observed.find("by pid 1 1 GiB, pid 2 (unknown)"), std::string::npos)
      << found->observed;
}

TEST(Gpus, UtilisationIsNotWork) {
  GpuState seen = One();
  seen.activities[0].some_resident = 1.0;
  EXPECT_EQ(Severe(seen, Id::kGpuUtilisation), Severity::kNote) << "the GPU cannot say more";
  seen.activities[0].sm_active = 0.1;
  EXPECT_EQ(Severe(seen, Id::kGpuUtilisation), Severity::kWarning);
  seen.activities[0].sm_active = 0.9;
  EXPECT_EQ(Severe(seen, Id::kGpuUtilisation), Severity::kFine);
}

TEST(Gpus, ModesAndPeers) {
  GpuState seen = One();
  seen.inventory.gpus[0].mig_enabled = true;
  seen.inventory.gpus[0].persistence_mode = false;
  seen.inventory.gpus.resize(2);
  seen.inventory.gpus[1].index = 2;
  seen.inventory.no_peer_access = {{0, 1}};
  EXPECT_EQ(Of(DiagnoseGpus(seen), Id::kGpuPeers)->observed,
            "GPU 0 and GPU 2 cannot read each other's memory");
  EXPECT_EQ(Severe(seen, Id::kGpuMig), Severity::kNote);
  EXPECT_EQ(Severe(seen, Id::kGpuPersistence), Severity::kNote);
  EXPECT_EQ(Severe(seen, Id::kGpuPeers), Severity::kNote);
}

TEST(Gpus, SmallestProcessBoundsTheContext) {
  GpuState seen = One();
  seen.readings[0].processes = {{1, std::nullopt}};
  EXPECT_EQ(Severe(seen, Id::kGpuContexts), std::nullopt) << "nobody says how much";
  seen.readings[0].processes = {{1, 4 * kGiB}, {2, 612 * kMiB}, {3, std::nullopt}};
  const auto found = Of(DiagnoseGpus(seen), Id::kGpuContexts);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->severity, Severity::kFine) << "an upper bound is no trouble";
  EXPECT_NE(found->observed.find("3 processes"), std::string::npos) << found->observed;
  EXPECT_NE(found->observed.find("612 MiB"), std::string::npos) << found->observed;
}

TEST(Mps, IsDetectedByProcessOrSocket) {
  const TestingDirectory root;
  root.Write("proc/5/comm", "bash\n");
  EXPECT_FALSE(IsMpsRunning(root.path()));
  root.Write("proc/6/comm", "nvidia-cuda-mps\n");
  EXPECT_TRUE(IsMpsRunning(root.path()));
  const TestingDirectory other;
  other.Write("tmp/nvidia-mps/control", "");
  EXPECT_TRUE(IsMpsRunning(other.path()));
}

TEST(CheckGpus, QueriesNvml) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.nvml = REVEZA_TESTING_NVML;
  const auto found = CheckGpus(subject);
  EXPECT_EQ(Of(found, Id::kGpuComputeMode)->severity, Severity::kWarning);
  EXPECT_EQ(Of(found, Id::kGpuLink)->severity, Severity::kWarning);
  EXPECT_EQ(Of(found, Id::kGpuMps)->severity, Severity::kWarning) << "seventy processes";
  EXPECT_EQ(Of(found, Id::kGpuUtilisation)->severity, Severity::kWarning);
  EXPECT_NE(Of(found, Id::kGpuContexts)->observed.find("70 processes"), std::string::npos);
  EXPECT_EQ(Of(found, Id::kUvmFaults)->severity, Severity::kNote) << "nobody sees the threads";
}

TEST(CheckGpus, ReportsAnUnresponsiveGpu) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.nvml = REVEZA_TESTING_NVML;
  setenv("REVEZA_TESTING_NVML_LOST", "1", 1);
  const auto found = CheckGpus(subject);
  unsetenv("REVEZA_TESTING_NVML_LOST");
  const auto silent = std::ranges::find_if(
      found, [](const Finding& one) { return one.observed == "GPU 0 is unresponsive"; });
  ASSERT_NE(silent, found.end());
  EXPECT_EQ(silent->severity, Severity::kFatal);
  EXPECT_TRUE(std::ranges::none_of(found, [](const Finding& one) {
    return one.observed.starts_with("GPU 0 (");
  })) << "no other GPU has its index";
}

TEST(CheckGpus, MissingNvmlIsANoteUnlessTheDriverIsInstalled) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.nvml = "libno-such-library.so.1";
  EXPECT_EQ(Of(CheckGpus(subject), Id::kGpuDriver)->severity, Severity::kNote);
  root.Write("proc/driver/nvidia/version", "NVRM version: 535\n");
  EXPECT_EQ(Of(CheckGpus(subject), Id::kGpuDriver)->severity, Severity::kFatal);
}

// The signs that managed memory goes back and forth.
namespace page_faults {

// A card of 16 GiB of which half is used, without traffic.
GpuState One() {
  GpuState seen;
  seen.inventory.gpus.resize(1);
  seen.readings.resize(1);
  seen.readings[0].total = 16 * kGiB;
  seen.readings[0].used = 8 * kGiB;
  seen.activities.resize(1);
  seen.fault_cpus = 0.0;
  return seen;
}

Finding Diagnose(const GpuState& seen) {
  const auto found = DiagnosePageFaults(seen);
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? Finding{} : found[0];
}

TEST(Faults, YieldNothingWithoutAGpu) { EXPECT_TRUE(DiagnosePageFaults({}).empty()); }

TEST(Faults, AreFineIfTheDriverIsIdle) {
  const auto finding = Diagnose(One());
  EXPECT_EQ(finding.id, Id::kUvmFaults);
  EXPECT_EQ(finding.severity, Severity::kFine);
}

TEST(Faults, WarnIfTheDriverIsBusy) {
  GpuState seen = One();
  seen.fault_cpus = 0.4;
  seen.managed = {{"train (pid 5)", 9 * kGiB}};
  const auto finding = Diagnose(seen);
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.confidence, Confidence::kMeasured);
  EXPECT_NE(finding.observed.find("40 % of a CPU; train (pid 5) has 9 GiB of managed memory"),
            std::string::npos)
      << finding.observed;
  EXPECT_NE(finding.fix.find("cudaMemPrefetchAsync"), std::string::npos);
}

TEST(Faults, AreUnknownIfThreadsAreHidden) {
  GpuState seen = One();
  seen.fault_cpus.reset();
  const auto finding = Diagnose(seen);
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_EQ(finding.observed.find('0'), std::string::npos) << finding.observed;
}

// In a container, from the other side: a full card, and both directions of the link busy.
TEST(Faults, AreInferredFromTrafficOfAFullGpu) {
  GpuState seen = One();
  seen.fault_cpus.reset();
  seen.readings[0].used = 16 * kGiB - kMiB;
  seen.activities[0].link_in = 3e9;
  seen.activities[0].link_out = 2e9;
  EXPECT_EQ(Diagnose(seen).severity, Severity::kNote) << "nobody has managed memory";
  seen.managed = {{"a", 100 * kMiB}, {"train (pid 5)", 10 * kGiB}};
  const auto finding = Diagnose(seen);
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.confidence, Confidence::kLikely);
  seen.activities[0].link_out = 1e6;
  EXPECT_EQ(Diagnose(seen).severity, Severity::kNote) << "only data coming in";
  seen.activities[0].link_out = 2e9;
  seen.readings[0].used = 4 * kGiB;
  EXPECT_EQ(Diagnose(seen).severity, Severity::kNote) << "a card with room";
  seen.readings[0].used = 16 * kGiB;
  seen.fault_cpus = 0.01;
  EXPECT_EQ(Diagnose(seen).severity, Severity::kFine) << "the driver serves no faults";
  seen.fault_cpus.reset();
  seen.managed = {{"a", 100 * kMiB}};
  EXPECT_EQ(Diagnose(seen).severity, Severity::kNote) << "what CUDA itself maps";
}

TEST(Faults, AreLikelyIfManagedMemoryExceedsTheGpu) {
  GpuState seen = One();
  seen.managed = {{"train (pid 5)", 16 * kGiB}};
  EXPECT_EQ(Diagnose(seen).severity, Severity::kFine);
  seen.managed = {{"train (pid 5)", 17 * kGiB}};
  const auto finding = Diagnose(seen);
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.confidence, Confidence::kLikely);
  EXPECT_EQ(finding.limit, "16 GiB: the largest GPU");
}

// The driver's threads before and after, and who has mapped what, from the files.
TEST(Faults, AreReadFromProc) {
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

}  // namespace page_faults

}  // namespace gpus_test
}  // namespace reveza::doctor
