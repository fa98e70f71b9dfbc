#include "doctor/report.h"

#include <gtest/gtest.h>

namespace reveza::doctor {
namespace {

Report Some() {
  return {"this machine",
          {{Id::kMapCount, Severity::kFatal, Sureness::kMeasured, "x has 65000 mappings",
            "vm.max_map_count = 65530", "mmap fails", "sudo sysctl vm.max_map_count=1048576"},
           {Id::kSwap, Severity::kNote, Sureness::kRead, "there is no swap", "", "kills", "swap"}},
          6};
}

TEST(Report, SaysOnlyWhatStandsInTheWay) {
  EXPECT_EQ(ReportText(Some(), false),
            "fatal [map-count]\n"
            "  x has 65000 mappings\n"
            "    limit: vm.max_map_count = 65530\n"
            "    why it matters: mmap fails\n"
            "    to mend it: sudo sysctl vm.max_map_count=1048576\n"
            "    how sure: measured\n"
            "\n"
            "this machine: 1 fatal, 0 warnings (6 checks); first: map-count "
            "(reveza doctor explain map-count)\n");
}

TEST(Report, SaysAllWhenAsked) {
  EXPECT_NE(ReportText(Some(), true).find("note [swap]"), std::string::npos);
}

TEST(Report, OfNothingIsOneLine) {
  Report report = Some();
  report.findings.erase(report.findings.begin());
  EXPECT_EQ(ReportText(report, false),
            "this machine: nothing found that stands in the way (6 checks)\n");
}

TEST(Report, IsJsonForPrograms) {
  const auto json = ReportJson(Some());
  EXPECT_EQ(json.at("verdict"), "fatal");
  EXPECT_EQ(json.at("findings").size(), 2u);
  EXPECT_EQ(json.at("findings")[0].at("id"), "map-count");
  EXPECT_EQ(json.at("findings")[0].at("sure"), "measured");
}

TEST(Wrapped, KeepsTheWidth) {
  EXPECT_EQ(Wrapped("one two three", "  ", 9), "  one two\n  three\n");
  EXPECT_EQ(Wrapped("one two three", "    ", 11), "    one two\n      three\n");
  EXPECT_EQ(Wrapped("averyveryverylongword", "", 5), "averyveryverylongword\n");
}

}  // namespace
}  // namespace reveza::doctor
