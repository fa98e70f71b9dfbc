#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "reveza/insight/doctor/finding.h"

namespace reveza::doctor {
namespace report_test {

Report Some() {
  return {
      "this machine",
      {{Id::kMapCount, Severity::kFatal, Confidence::kMeasured, "x has 65000 mappings",
        "vm.max_map_count = 65530", "mmap fails", "sudo sysctl vm.max_map_count=1048576"},
       {Id::kSwap, Severity::kNote, Confidence::kRead, "there is no swap", "", "kills", "swap"}},
      6};
}

TEST(Report, ShowsOnlyProblems) {
  EXPECT_EQ(ReportText(Some(), false),
            "fatal [map-count]\n"
            "  x has 65000 mappings\n"
            "    limit: vm.max_map_count = 65530\n"
            "    why it matters: mmap fails\n"
            "    fix: sudo sysctl vm.max_map_count=1048576\n"
            "    confidence: measured\n"
            "\n"
            "this machine: 1 fatal, 0 warnings (6 checks); first: map-count "
            "(reveza doctor explain map-count)\n");
}

TEST(Report, ShowsAllOnRequest) {
  EXPECT_NE(ReportText(Some(), true).find("note [swap]"), std::string::npos);
}

TEST(Report, IsOneLineWithoutProblems) {
  Report report = Some();
  report.findings.erase(report.findings.begin());
  EXPECT_EQ(ReportText(report, false), "this machine: no problems found (6 checks)\n");
}

TEST(Report, FormatsJson) {
  const auto json = ReportJson(Some());
  EXPECT_EQ(json.at("verdict"), "fatal");
  EXPECT_EQ(json.at("findings").size(), 2u);
  EXPECT_EQ(json.at("findings")[0].at("id"), "map-count");
  EXPECT_EQ(json.at("findings")[0].at("sure"), "measured");
}

TEST(Wrapped, RespectsTheWidth) {
  EXPECT_EQ(Wrapped("one two three", "  ", 9), "  one two\n  three\n");
  EXPECT_EQ(Wrapped("one two three", "    ", 11), "    one two\n      three\n");
  EXPECT_EQ(Wrapped("averyveryverylongword", "", 5), "averyveryverylongword\n");
}

TEST(Pages, IdsAndPagesMatch) {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < kIds; ++i) ids.insert(IdName(static_cast<Id>(i)));
  std::set<std::string_view> pages;
  for (const Page& page : AllPages()) pages.insert(page.id);
  EXPECT_EQ(ids, pages);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(REVEZA_DOCTOR_PAGES)) {
    if (entry.path().stem() != "README") files.insert(entry.path().stem());
  }
  EXPECT_EQ(files, std::set<std::string>(pages.begin(), pages.end()))
      << "the pages in the program are those of the folder";
}

TEST(Pages, HaveAllSections) {
  for (const Page& page : AllPages()) {
    EXPECT_TRUE(page.text.starts_with("# ")) << page.id;
    for (const char* part :
         {"\n## Why it matters\n", "\n## How to see it\n", "\n## How to fix it\n"}) {
      EXPECT_NE(page.text.find(part), std::string_view::npos) << page.id << part;
    }
  }
  ASSERT_TRUE(FindPage("address-space"));
  EXPECT_FALSE(FindPage("no-such-page"));
}

}  // namespace report_test
}  // namespace reveza::doctor
