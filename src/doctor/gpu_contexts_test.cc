#include "doctor/gpu_contexts.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "doctor/checks.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

using std::chrono::seconds;

TEST(GpuContexts, AreToldWithWhatAllOfThemTake) {
  const auto found = JudgeContexts({{"Test", 80 * kGiB, 512 * kMiB}}, {4});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, Id::kGpuContexts);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_EQ(found[0].sure, Sureness::kMeasured);
  EXPECT_EQ(found[0].observed,
            "GPU 0 (Test): a context takes 512 MiB before anything is allocated; 4 processes pay "
            "2 GiB for that");
  EXPECT_EQ(found[0].limit, "80 GiB of memory");
  EXPECT_NE(found[0].fix, "");
}

TEST(GpuContexts, AreAWarningWhenTheyTakeAQuarterOfTheCard) {
  const std::vector<ContextCost> card = {{"Test", 4 * kGiB, 256 * kMiB}};
  EXPECT_EQ(JudgeContexts(card, {3})[0].severity, Severity::kNote);
  EXPECT_EQ(JudgeContexts(card, {4})[0].severity, Severity::kWarning);
  EXPECT_EQ(JudgeContexts(card, {std::nullopt})[0].severity, Severity::kNote);
  EXPECT_EQ(JudgeContexts(card, {})[0].severity, Severity::kNote);
}

TEST(GpuContexts, ThatCouldNotBeMeasuredAreNotZero) {
  const auto found = JudgeContexts({{"Test", 4 * kGiB, std::nullopt}}, {2});
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
    EXPECT_EQ(finding.sure, Sureness::kMeasured) << finding.observed;
    EXPECT_NE(finding.observed.find("a context takes 24 MiB"), std::string::npos)
        << finding.observed;
  }
  EXPECT_TRUE(found[1].observed.starts_with("GPU 1"));
}

TEST(GpuContexts, WithoutADriverSayWhatIsMissing) {
  Subject subject;
  subject.cuda = "no-such-driver.so";
  const auto found = Probe("2MiB", "1", subject);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_NE(found[0].observed.find("no-such-driver.so"), std::string::npos) << found[0].observed;
}

}  // namespace
}  // namespace reveza::doctor
