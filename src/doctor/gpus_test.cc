#include "doctor/gpus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.h"
#include "doctor/checks.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

using platform::ComputeMode;
using platform::TestingDirectory;

std::optional<Finding> Of(const Findings& findings, Id id) {
  const auto merged = Merged(findings);
  const auto found = std::ranges::find(merged, id, &Finding::id);
  if (found == merged.end()) return std::nullopt;
  return *found;
}

std::optional<Severity> Severe(const GpusSeen& seen, Id id) {
  const auto found = Of(JudgeGpus(seen), id);
  if (!found) return std::nullopt;
  return found->severity;
}

GpusSeen One() {
  GpusSeen seen;
  seen.set_up.driver = "535.1";
  seen.set_up.gpus.resize(1);
  seen.set_up.gpus[0].name = "Test";
  seen.readings.resize(1);
  seen.activities.resize(1);
  return seen;
}

TEST(Gpus, OfWhichNothingIsSaidGiveNoFindings) {
  const GpusSeen seen = One();
  const auto found = JudgeGpus(seen);
  ASSERT_EQ(found.size(), 2u) << "the driver, and that page faults are not known";
  EXPECT_EQ(found[0].id, Id::kGpuDriver);
  EXPECT_EQ(found[1].id, Id::kUvmFaults);
  EXPECT_EQ(found[1].severity, Severity::kNote);
}

TEST(Gpus, ComputeModeMattersToTheSecondWorker) {
  GpusSeen seen = One();
  seen.set_up.gpus[0].compute_mode = ComputeMode::kShared;
  EXPECT_EQ(Severe(seen, Id::kGpuComputeMode), Severity::kFine);
  seen.set_up.gpus[0].compute_mode = ComputeMode::kExclusiveProcess;
  EXPECT_EQ(Severe(seen, Id::kGpuComputeMode), Severity::kWarning);
  seen.mps = true;
  EXPECT_EQ(Severe(seen, Id::kGpuComputeMode), Severity::kFine);
  seen.set_up.gpus[0].compute_mode = ComputeMode::kProhibited;
  EXPECT_EQ(Severe(seen, Id::kGpuComputeMode), Severity::kFatal);
}

TEST(Gpus, LinkCountsByItsLanes) {
  GpusSeen seen = One();
  auto& gpu = seen.set_up.gpus[0];
  gpu.link_lanes = 16;
  gpu.best_link_lanes = 16;
  gpu.link_generation = 1;
  gpu.best_link_generation = 4;
  EXPECT_EQ(Severe(seen, Id::kGpuLink), Severity::kFine) << "the generation falls when idle";
  gpu.link_lanes = 4;
  const auto found = Of(JudgeGpus(seen), Id::kGpuLink);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->severity, Severity::kWarning);
  EXPECT_NE(found->why.find("4.0 times"), std::string::npos) << found->why;
}

TEST(Gpus, SeveralProcessesWithoutMpsTakeTurns) {
  GpusSeen seen = One();
  EXPECT_EQ(Severe(seen, Id::kGpuMps), std::nullopt) << "who uses it is not known";
  seen.readings[0].processes = {{1, kGiB}};
  EXPECT_EQ(Severe(seen, Id::kGpuMps), Severity::kNote);
  seen.readings[0].processes = {{1, kGiB}, {2, std::nullopt}};
  EXPECT_EQ(Severe(seen, Id::kGpuMps), Severity::kWarning);
  seen.mps = true;
  EXPECT_EQ(Severe(seen, Id::kGpuMps), Severity::kFine);
  seen.readings[0].total = 4 * kGiB;
  seen.readings[0].used = 4 * kGiB - kMiB;
  const auto found = Of(JudgeGpus(seen), Id::kGpuMemory);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->severity, Severity::kWarning);
  EXPECT_NE(found->observed.find("by pid 1 1 GiB, pid 2 (not said)"), std::string::npos)
      << found->observed;
}

TEST(Gpus, UtilisationIsNotWork) {
  GpusSeen seen = One();
  seen.activities[0].some_resident = 1.0;
  EXPECT_EQ(Severe(seen, Id::kGpuUtilisation), Severity::kNote) << "the GPU cannot say more";
  seen.activities[0].sm_active = 0.1;
  EXPECT_EQ(Severe(seen, Id::kGpuUtilisation), Severity::kWarning);
  seen.activities[0].sm_active = 0.9;
  EXPECT_EQ(Severe(seen, Id::kGpuUtilisation), Severity::kFine);
}

TEST(Gpus, ModesAndPeers) {
  GpusSeen seen = One();
  seen.set_up.gpus[0].divided = true;
  seen.set_up.gpus[0].persistent = false;
  seen.set_up.gpus.resize(2);
  seen.set_up.gpus[1].index = 2;
  seen.set_up.strangers = {{0, 1}};
  EXPECT_EQ(Of(JudgeGpus(seen), Id::kGpuPeers)->observed,
            "GPU 0 and GPU 2 cannot read each other's memory");
  EXPECT_EQ(Severe(seen, Id::kGpuMig), Severity::kNote);
  EXPECT_EQ(Severe(seen, Id::kGpuPersistence), Severity::kNote);
  EXPECT_EQ(Severe(seen, Id::kGpuPeers), Severity::kNote);
}

TEST(Gpus, AContextIsNoMoreThanTheSmallestHolds) {
  GpusSeen seen = One();
  seen.readings[0].processes = {{1, std::nullopt}};
  EXPECT_EQ(Severe(seen, Id::kGpuContexts), std::nullopt) << "nobody says how much";
  seen.readings[0].processes = {{1, 4 * kGiB}, {2, 612 * kMiB}, {3, std::nullopt}};
  const auto found = Of(JudgeGpus(seen), Id::kGpuContexts);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->severity, Severity::kFine) << "an upper bound is no trouble";
  EXPECT_NE(found->observed.find("3 processes"), std::string::npos) << found->observed;
  EXPECT_NE(found->observed.find("612 MiB"), std::string::npos) << found->observed;
}

TEST(Mps, IsFoundByItsProcessOrItsSocket) {
  const TestingDirectory root;
  root.Write("proc/5/comm", "bash\n");
  EXPECT_FALSE(MpsRuns(root.path()));
  root.Write("proc/6/comm", "nvidia-cuda-mps\n");
  EXPECT_TRUE(MpsRuns(root.path()));
  const TestingDirectory other;
  other.Write("tmp/nvidia-mps/control", "");
  EXPECT_TRUE(MpsRuns(other.path()));
}

TEST(CheckGpus, AsksNvml) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.nvml = REVEZA_TESTING_NVML;
  const auto found = CheckGpus(subject);
  EXPECT_EQ(Of(found, Id::kGpuComputeMode)->severity, Severity::kWarning);
  EXPECT_EQ(Of(found, Id::kGpuLink)->severity, Severity::kWarning);
  EXPECT_EQ(Of(found, Id::kGpuMps)->severity, Severity::kWarning) << "seventy processes";
  EXPECT_EQ(Of(found, Id::kGpuUtilisation)->severity, Severity::kWarning);
  EXPECT_EQ(Of(found, Id::kGpuContexts)->observed,
            "GPU 0 (Test GPU): 70 processes with a context of their own; the smallest holds 1 B in "
            "all, so a context is no more than that");
  EXPECT_EQ(Of(found, Id::kUvmFaults)->severity, Severity::kNote) << "nobody sees the threads";
}

TEST(CheckGpus, OneThatDoesNotAnswerIsSaid) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.nvml = REVEZA_TESTING_NVML;
  setenv("REVEZA_TESTING_NVML_LOST", "1", 1);
  const auto found = CheckGpus(subject);
  unsetenv("REVEZA_TESTING_NVML_LOST");
  const auto silent = std::ranges::find_if(
      found, [](const Finding& one) { return one.observed == "GPU 0 does not answer"; });
  ASSERT_NE(silent, found.end());
  EXPECT_EQ(silent->severity, Severity::kFatal);
  EXPECT_TRUE(std::ranges::none_of(found, [](const Finding& one) {
    return one.observed.starts_with("GPU 0 (");
  })) << "nobody else has its number";
}

TEST(CheckGpus, WithoutNvmlIsANoteUnlessTheDriverIsHere) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.nvml = "libno-such-library.so.1";
  EXPECT_EQ(Of(CheckGpus(subject), Id::kGpuDriver)->severity, Severity::kNote);
  root.Write("proc/driver/nvidia/version", "NVRM version: 535\n");
  EXPECT_EQ(Of(CheckGpus(subject), Id::kGpuDriver)->severity, Severity::kFatal);
}

}  // namespace
}  // namespace reveza::doctor
