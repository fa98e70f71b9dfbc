#include "reveza/cli/reveza/demo/demo_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace reveza::cli {
namespace demo_picture_test {

const std::vector<DemoRow> kRows = {{"ana", "on the GPU", 186 * kMiB, 12, 24},
                                    {"bia", "waiting", 62 * kMiB, 3, 24},
                                    {"caio", "done", 0, 24, 24}};

std::size_t WidestLine(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::size_t widest = 0;
  while (std::getline(lines, line)) widest = std::max(widest, line.size());
  return widest;
}

TEST(Picture, ShowsResidentMemoryPerProgram) {
  const std::string text = Picture(kRows, 248 * kMiB, 4.25, false);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_LE(WidestLine(text), 80u);
  EXPECT_NE(text.find("AAAABBBB"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, 'A'), 35) << "three quarters of 46";
  EXPECT_EQ(text.find("C"), std::string::npos) << "finished programs hold no memory";
  EXPECT_NE(text.find("24/24"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(Picture(kRows, 248 * kMiB, 4.25, true).find('\x1b'), std::string::npos);
}

TEST(Picture, FitsEightyColumns) {
  const std::string text = Picture(kRows, 100 * kMiB, 0, false);
  EXPECT_LE(WidestLine(text), 80u) << "more memory than the GPU has";
  EXPECT_LE(WidestLine(Picture(kRows, 0, 0, false)), 80u);
}

TEST(PlainLine, IsOneLine) {
  const std::string line = PlainLine(kRows, 4.25);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_NE(line.find("ana: on the GPU 12/24"), std::string::npos);
}

TEST(ResultTable, ShowsWhetherResultsAreTheSame) {
  DemoResult result;
  result.programs = {{"ana", 3, 9, true}, {"bia", 3, 8, true}};
  result.all_alone = 6;
  result.all_together = 6.3;
  result.moved_out = kGiB;
  EXPECT_TRUE(result.AllSame());
  EXPECT_DOUBLE_EQ(result.Ratio(), 1.05);
  EXPECT_NE(ResultTable(result).find("one by one: 1.05"), std::string::npos);
  EXPECT_LE(WidestLine(ResultTable(result)), 80u);
  EXPECT_EQ(ResultTable(result).find("NO"), std::string::npos);
  result.programs[1].same = false;
  EXPECT_FALSE(result.AllSame());
  EXPECT_NE(ResultTable(result).find("NO"), std::string::npos);
  const auto json = ResultJson(result);
  EXPECT_EQ(json.at("same_results"), false);
  EXPECT_EQ(json.at("programs").size(), 2u);
  EXPECT_FALSE(DemoResult{}.AllSame()) << "no programs";
}

TEST(TitleLine, FillsALine) { EXPECT_EQ(TitleLine("x").size(), 78u); }

}  // namespace demo_picture_test
}  // namespace reveza::cli
