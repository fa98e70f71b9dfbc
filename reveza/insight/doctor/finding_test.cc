#include "reveza/insight/doctor/finding.h"

#include <gtest/gtest.h>

namespace reveza::doctor {
namespace finding_test {

Finding Some(Id id, Severity severity, const std::string& observed = "seen") {
  return {id, severity, Confidence::kRead, observed, "limit", "why", "fix"};
}

TEST(Finding, IdsHaveUniqueNames) {
  for (std::size_t i = 0; i < kIds; ++i) {
    const Id id = static_cast<Id>(i);
    EXPECT_EQ(IdByName(IdName(id)), id) << IdName(id);
  }
  EXPECT_EQ(IdByName("no-such"), std::nullopt);
}

TEST(Finding, RoundTripsThroughJson) {
  const Finding finding = Some(Id::kSwap, Severity::kWarning);
  EXPECT_EQ(FindingFromJson(ToJson(finding)), finding);
  Finding unlimited = finding;
  unlimited.limit.clear();
  EXPECT_TRUE(ToJson(unlimited).at("limit").is_null());
  EXPECT_EQ(FindingFromJson(ToJson(unlimited)), unlimited);
  EXPECT_EQ(FindingFromJson(nlohmann::json::array()), std::nullopt);
  EXPECT_EQ(FindingFromJson({{"id", "nobody"}}), std::nullopt);
}

TEST(Finding, MergeKeepsTheWorstOfEachIdFirst) {
  const auto merged = MergeFindings(
      {Some(Id::kSwap, Severity::kNote), Some(Id::kCpuset, Severity::kFine),
       Some(Id::kMapCount, Severity::kFatal, "one"), Some(Id::kMapCount, Severity::kFatal, "two"),
       Some(Id::kMapCount, Severity::kFine), Some(Id::kSwap, Severity::kFine)});
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].id, Id::kMapCount);
  EXPECT_EQ(merged[0].observed, "one (and 1 more like it)");
  EXPECT_EQ(merged[1].id, Id::kSwap);
  EXPECT_EQ(merged[1].severity, Severity::kNote);
  EXPECT_EQ(merged[2].id, Id::kCpuset);
}

TEST(Finding, DeterminesTheExitStatus) {
  EXPECT_EQ(ExitStatusOf({}), 0);
  EXPECT_EQ(ExitStatusOf({Some(Id::kSwap, Severity::kNote)}), 0);
  EXPECT_EQ(ExitStatusOf({Some(Id::kSwap, Severity::kWarning)}), 1);
  EXPECT_EQ(
      ExitStatusOf({Some(Id::kSwap, Severity::kWarning), Some(Id::kMapCount, Severity::kFatal)}),
      2);
}

TEST(DemoteConsequences, KeepsTheCauseAlone) {
  const Finding probe = MakeFinding(Id::kThreadProbe, Severity::kFatal, "34 threads");
  EXPECT_EQ(DemoteConsequences({probe})[0].severity, Severity::kFatal) << "no limit explains it";
  const Finding fine = Fine(Id::kAddressSpace, "unlimited");
  EXPECT_EQ(DemoteConsequences({probe, fine})[0].severity, Severity::kFatal);
  const Finding limit = MakeFinding(Id::kAddressSpace, Severity::kWarning, "limited");
  auto found = DemoteConsequences({probe, limit});
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_EQ(found[1].severity, Severity::kWarning);
  Finding death = MakeFinding(Id::kThreadLocalData, Severity::kFatal, "died");
  death.cause = Id::kAddressSpace;
  found = DemoteConsequences({death, limit, probe});
  EXPECT_EQ(found[0].severity, Severity::kFatal);
  EXPECT_EQ(found[1].severity, Severity::kNote);
  EXPECT_EQ(found[2].severity, Severity::kNote);
}

}  // namespace finding_test
}  // namespace reveza::doctor
