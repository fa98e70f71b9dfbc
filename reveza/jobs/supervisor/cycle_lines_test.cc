#include "reveza/jobs/supervisor/cycle_lines.h"

#include <gtest/gtest.h>

#include <string>

namespace reveza::jobs {
namespace cycle_lines_test {

std::vector<CycleLine> Found(std::string_view text) {
  std::vector<CycleLine> found;
  CycleLineParser().Feed(text, found);
  return found;
}

CycleLine Report(std::uint64_t number, std::vector<Metric> metrics = {}) {
  return {number, std::move(metrics)};
}

TEST(ParseCycleLine, ParsesNumberAndMetrics) {
  EXPECT_EQ(ParseCycleLine("reveza step 57 phi=0.61 loss=1e-3"),
            Report(57, {{"phi", 0.61}, {"loss", 1e-3}}));
  EXPECT_EQ(ParseCycleLine("reveza step 0"), Report(0));
  EXPECT_EQ(ParseCycleLine("reveza step  7 \t phi=+1 "), Report(7, {{"phi", 1}}));
  EXPECT_EQ(ParseCycleLine("reveza step 18446744073709551615"), Report(18446744073709551615u));
  EXPECT_EQ(ParseCycleLine("reveza step 1 train/loss.0-x_y=-2"),
            Report(1, {{"train/loss.0-x_y", -2}}));
}

TEST(ParseCycleLine, RejectsOtherLines) {
  for (const char* line :
       {"", "reveza", "reveza step", "reveza step ", "reveza step five", "reveza step -1",
        "reveza step +1", "reveza step 1.5", "reveza step 5 of 100", "reveza step 5 begins",
        "reveza step 99999999999999999999", "Reveza step 5", " reveza step 5", "reveza  step 5",
        "reveza steps 5", "reveza step 5 phi = 0.61", "[info] reveza step 5"}) {
    EXPECT_EQ(ParseCycleLine(line), std::nullopt) << line;
  }
}

TEST(ParseCycleLine, IgnoresNonFiniteValues) {
  EXPECT_EQ(ParseCycleLine("reveza step 5 a=nan b=inf c=-inf d= e=1x f=0x1p3 g=1e999 h=++1 phi=2"),
            Report(5, {{"phi", 2}}));
  EXPECT_EQ(ParseCycleLine("reveza step 5 =1 9a=1 a b=1"), std::nullopt);
  EXPECT_EQ(ParseCycleLine("reveza step 5 =1 9a=1 a*=1 b=1"), Report(5, {{"b", 1}}));
}

TEST(ParseCycleLine, DeduplicatesAndLimitsMetrics) {
  EXPECT_EQ(ParseCycleLine("reveza step 5 phi=1 x=2 phi=3"), Report(5, {{"phi", 3}, {"x", 2}}));
  std::string line = "reveza step 5";
  for (int i = 0; i < 100; ++i) line += " m" + std::to_string(i) + "=1";
  EXPECT_EQ(ParseCycleLine(line)->metrics.size(), kMaxMetrics);
  const std::string name(kMaxMetricName, 'a');
  EXPECT_EQ(ParseCycleLine("reveza step 5 " + name + "=1"), Report(5, {{name, 1}}));
  EXPECT_EQ(ParseCycleLine("reveza step 5 " + name + "a=1"), Report(5));
}

TEST(CycleLineParser, FindsReportsAmongOtherOutput) {
  EXPECT_EQ(Found("starting\nreveza step 1 phi=1\nphi was 1\n\nreveza step 2\nreveza ste\n"),
            (std::vector{Report(1, {{"phi", 1}}), Report(2)}));
  EXPECT_EQ(Found("reveza step 1\r\n 10%|#\rreveza step 2\r\n"),
            (std::vector{Report(1), Report(2)}));
  EXPECT_EQ(Found(std::string("\0reveza step 1\nreveza step 2\0\nreveza step 3\n", 44)),
            std::vector{Report(3)});
}

TEST(CycleLineParser, IgnoresUnterminatedLines) {
  EXPECT_TRUE(Found("reveza step 1 phi=0.6").empty());
  EXPECT_TRUE(Found("").empty());
}

TEST(CycleLineParser, DoesNotDependOnChunking) {
  const std::string text =
      "x\nreveza step 1 phi=0.61\r\nreveza stop\n\nreveza step 2 of\nreveza step 33 a=1 "
      "b=2\nreveza";
  const auto whole = Found(text);
  ASSERT_EQ(whole.size(), 2);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      std::vector<CycleLine> found;
      CycleLineParser lines;
      lines.Feed(std::string_view(text).substr(0, first), found);
      lines.Feed(std::string_view(text).substr(first, second - first), found);
      lines.Feed(std::string_view(text).substr(second), found);
      ASSERT_EQ(found, whole) << first << ' ' << second;
    }
  }
}

TEST(CycleLineParser, LimitsLineLength) {
  std::string line = "reveza step 5";
  line.append(kMaxCycleLine - line.size(), ' ');
  const std::vector<std::string> lines = {line + '\n', line + " \n", line + "\n"};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{4000}, std::size_t{10000}}) {
    std::vector<CycleLine> found;
    CycleLineParser parser;
    for (const std::string& text : lines) {
      for (std::size_t at = 0; at < text.size(); at += piece) {
        parser.Feed(std::string_view(text).substr(at, piece), found);
      }
    }
    EXPECT_EQ(found, (std::vector{Report(5), Report(5)})) << piece;
  }
}

TEST(CycleLineParser, ResumesAfterAnOverlongLine) {
  CycleLineParser lines;
  std::vector<CycleLine> found;
  const std::string part(1 << 16, 'x');
  for (int i = 0; i < 200; ++i) lines.Feed(part, found);
  lines.Feed("reveza step 1\n", found);  // still the long line
  EXPECT_TRUE(found.empty());
  lines.Feed("reveza step 2\n", found);
  EXPECT_EQ(found, std::vector{Report(2)});
}

}  // namespace cycle_lines_test
}  // namespace reveza::jobs
