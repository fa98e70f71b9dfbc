#include "doctor/gpu_turns.h"

#include <gtest/gtest.h>

#include "doctor/checks.h"

namespace reveza::doctor {
namespace {

using std::chrono::milliseconds;

Turns Watched(milliseconds away, std::uint64_t times) {
  return {"Test", milliseconds(50), away, times};
}

TEST(GpuTurns, WarnWhereOthersHaveTheGpu) {
  const auto found = JudgeTurns({Watched(milliseconds(25), 12)}, false);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].sure, Sureness::kMeasured);
  EXPECT_EQ(found[0].observed,
            "GPU 0 (Test): a kernel that watched for 50 ms had to wait 12 times, for 50 % of it");
  EXPECT_NE(found[0].fix, "");
}

TEST(GpuTurns, AreFineAlone) {
  const auto found = JudgeTurns({Watched(milliseconds(0), 0), Watched(milliseconds(4), 2)}, false);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].severity, Severity::kFine);
  EXPECT_EQ(found[0].why, "");
  EXPECT_EQ(found[1].severity, Severity::kFine);
  EXPECT_NE(found[1].why, "");
}

TEST(GpuTurns, SayUnderMpsThatNobodyNeedWait) {
  const auto found = JudgeTurns({Watched(milliseconds(0), 0)}, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].why.find("MPS"), std::string::npos);
}

TEST(GpuTurns, OfNothingWatchedSayNothing) { EXPECT_TRUE(JudgeTurns({Turns{}}, false).empty()); }

Subject WithFakeDriver() {
  Subject subject;
  subject.nvml = "no-such-library.so";
  subject.cuda = REVEZA_FAKE_DRIVER;
  return subject;
}

TEST(GpuTurns, AreMeasuredOnlyWhenAskedFor) {
  for (const Check& check : AllChecks(false)) {
    EXPECT_NE(check.run, &CheckGpuTurns);
    EXPECT_NE(check.run, &CheckGpuContexts);
  }
  EXPECT_EQ(AllChecks(true).back().run, &CheckGpuTurns);
  const auto found =
      RunIsolated("turns", milliseconds(20'000), [] { return CheckGpuTurns(WithFakeDriver()); });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, Id::kGpuTurns) << found[0].observed;
  EXPECT_NE(found[0].observed.find("a kernel that watched for 50"), std::string::npos)
      << found[0].observed;
}

TEST(GpuTurns, WithoutADriverSayWhatIsMissing) {
  Subject subject = WithFakeDriver();
  subject.cuda = "no-such-driver.so";
  const auto found = CheckGpuTurns(subject);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_NE(found[0].observed.find("no-such-driver.so"), std::string::npos);
}

}  // namespace
}  // namespace reveza::doctor
