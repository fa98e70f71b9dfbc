#include "reveza/insight/doctor/gpu_probe.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/platform/testing_directory.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace gpu_probe_test {

using std::chrono::seconds;

TEST(GpuContexts, ReportSizeAndTotal) {
  const auto found = DiagnoseContexts({{"Test", 80 * kGiB, 512 * kMiB}}, {4});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, Id::kGpuContexts);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_EQ(found[0].confidence, Confidence::kMeasured);
  EXPECT_EQ(
      found[0].observed,
      "GPU 0 (Test): a context takes 512 MiB before any allocation; 4 processes take 2 GiB for "
      "contexts");
  EXPECT_EQ(found[0].limit, "80 GiB of memory");
  EXPECT_NE(found[0].fix, "");
}

TEST(GpuContexts, WarnFromAQuarterOfTheMemory) {
  const std::vector<ContextCost> card = {{"Test", 4 * kGiB, 256 * kMiB}};
  EXPECT_EQ(DiagnoseContexts(card, {3})[0].severity, Severity::kNote);
  EXPECT_EQ(DiagnoseContexts(card, {4})[0].severity, Severity::kWarning);
  EXPECT_EQ(DiagnoseContexts(card, {std::nullopt})[0].severity, Severity::kNote);
  EXPECT_EQ(DiagnoseContexts(card, {})[0].severity, Severity::kNote);
}

TEST(GpuContexts, UnmeasuredIsNotZero) {
  const auto found = DiagnoseContexts({{"Test", 4 * kGiB, std::nullopt}}, {2});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_NE(found[0].observed.find("could not be measured"), std::string::npos);
}

// On cards of its own, whose contexts take as much as is asked for.
Findings Probe(const char* context, const char* devices, Subject subject = {}) {
  const platform::TestingDirectory cards;
  subject.nvml = "no-such-library.so";
  if (subject.cuda == Subject{}.cuda) subject.cuda = REVEZA_FAKE_DRIVER;
  return RunIsolated("contexts", seconds(100), [&] {
    setenv("FAKECUDA_DIR", cards.path().c_str(), 1);
    setenv("FAKECUDA_CONTEXT", context, 1);
    setenv("FAKECUDA_DEVICES", devices, 1);
    return CheckGpuContexts(subject);
  });
}

TEST(GpuContexts, AreMeasuredOnEachGpu) {
  const auto found = Probe("24MiB", "2");
  ASSERT_EQ(found.size(), 2u);
  for (const Finding& finding : found) {
    EXPECT_EQ(finding.id, Id::kGpuContexts);
    EXPECT_EQ(finding.confidence, Confidence::kMeasured) << finding.observed;
    EXPECT_NE(finding.observed.find("a context takes 24 MiB"), std::string::npos)
        << finding.observed;
  }
  EXPECT_TRUE(found[1].observed.starts_with("GPU 1"));
}

TEST(GpuContexts, ReportAMissingDriver) {
  Subject subject;
  subject.cuda = "no-such-driver.so";
  const auto found = Probe("2MiB", "1", subject);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_NE(found[0].observed.find("no-such-driver.so"), std::string::npos) << found[0].observed;
}

using std::chrono::milliseconds;

TimeSlicing Watched(milliseconds away, std::uint64_t times) {
  return {"Test", milliseconds(50), away, times};
}

TEST(GpuTurns, WarnIfOthersUseTheGpu) {
  const auto found = DiagnoseTimeSlicing({Watched(milliseconds(25), 12)}, false);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].confidence, Confidence::kMeasured);
  EXPECT_EQ(
      found[0].observed,
      "GPU 0 (Test): a kernel that ran for 50 ms was preempted 12 times, for 50 % of the time");
  EXPECT_NE(found[0].fix, "");
}

TEST(GpuTurns, AreFineAlone) {
  const auto found =
      DiagnoseTimeSlicing({Watched(milliseconds(0), 0), Watched(milliseconds(4), 2)}, false);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].severity, Severity::kFine);
  EXPECT_EQ(found[0].why, "");
  EXPECT_EQ(found[1].severity, Severity::kFine);
  EXPECT_NE(found[1].why, "");
}

TEST(GpuTurns, ExplainConcurrencyUnderMps) {
  const auto found = DiagnoseTimeSlicing({Watched(milliseconds(0), 0)}, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].why.find("MPS"), std::string::npos);
}

TEST(GpuTurns, YieldNothingWithoutAMeasurement) {
  EXPECT_TRUE(DiagnoseTimeSlicing({TimeSlicing{}}, false).empty());
}

Subject WithFakeDriver() {
  Subject subject;
  subject.nvml = "no-such-library.so";
  subject.cuda = REVEZA_FAKE_DRIVER;
  return subject;
}

TEST(GpuTurns, AreMeasuredOnlyOnRequest) {
  for (const Check& check : AllChecks(false)) {
    EXPECT_NE(check.run, &CheckGpuTurns);
    EXPECT_NE(check.run, &CheckGpuContexts);
  }
  EXPECT_EQ(AllChecks(true).back().run, &CheckGpuTurns);
  const auto found =
      RunIsolated("turns", milliseconds(20'000), [] { return CheckGpuTurns(WithFakeDriver()); });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, Id::kGpuTurns) << found[0].observed;
  EXPECT_NE(found[0].observed.find("a kernel that ran for 50"), std::string::npos)
      << found[0].observed;
}

TEST(GpuTurns, ReportAMissingDriver) {
  Subject subject = WithFakeDriver();
  subject.cuda = "no-such-driver.so";
  const auto found = CheckGpuTurns(subject);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_NE(found[0].observed.find("no-such-driver.so"), std::string::npos);
}

}  // namespace gpu_probe_test
}  // namespace reveza::doctor
