#include "reveza/jobs/report/job_page.h"

#include <gtest/gtest.h>

#include <string>

#include "reveza/jobs/report/charts.h"

namespace reveza::jobs {
namespace job_page_test {

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A table as MakeStepTable() makes it, with a step that runs for two seconds each.
JobPageInput Input(std::size_t steps) {
  JobPageInput input;
  input.id = "sweep";
  input.now = "2026-11-27 12:00:00";
  input.steps.columns = {"step", "seed", "model"};
  input.steps.columns.insert(input.steps.columns.end(), kStepColumns.begin(), kStepColumns.end());
  input.steps.columns.emplace_back("loss");
  for (std::size_t i = 0; i < steps; ++i) {
    const double at = 1790000000.0 + static_cast<double>(i);
    input.steps.rows.push_back({i + 1, std::to_string(i), i % 2 == 0 ? "small" : "large", "done", 1,
                                "done", 0, at, 2.0, 1.5, 1048576, 0.5});
  }
  return input;
}

TEST(JobPage, HasTimeLineFailuresAndPlots) {
  JobPageInput input = Input(4);
  input.steps.rows[2][3] = "failed";
  input.steps.rows[2][5] = "failed";
  input.steps.rows[2][6] = 3;
  input.outputs.push_back({3, "ValueError: x < 0"});
  const std::string page = JobPage(input);
  EXPECT_TRUE(page.contains("3 done, 1 failed"));
  EXPECT_TRUE(page.contains("5 s from the first start")) << page;
  EXPECT_EQ(CountOf(page, "<rect class=\"done\""), 3u);
  EXPECT_EQ(CountOf(page, "<rect class=\"failed\""), 1u);
  EXPECT_TRUE(page.contains("2 steps ran at once at most"));
  EXPECT_TRUE(page.contains("<td>failed, code 3</td>")) << page;
  EXPECT_TRUE(page.contains("ValueError: x &lt; 0"));
  EXPECT_EQ(CountOf(page, "<svg class=\"plot\""), 6u) << "loss, seconds, peak over two parameters";
  EXPECT_TRUE(page.contains("loss over seed"));
  EXPECT_EQ(CountOf(page, "<circle "), 24u);
  EXPECT_TRUE(page.contains(">small</text>")) << "categories are named";
}

TEST(JobPage, HasNoScriptsAndNothingFromElsewhere) {
  const std::string page = JobPage(Input(3));
  EXPECT_TRUE(page.contains("default-src 'none'"));
  for (const char* part : {"<script", "src=", "href=", "url(", "@import"}) {
    EXPECT_FALSE(page.contains(part)) << part;
  }
}

TEST(JobPage, EscapesAllTexts) {
  const std::string hostile = "</title><script>alert(1)</script>\"' onload=x \x1b[0m&";
  JobPageInput input = Input(3);
  input.id = hostile;
  input.now = hostile;
  input.steps.columns[1] = hostile;
  input.steps.columns.back() = hostile;
  for (auto& row : input.steps.rows) {
    row[1] = hostile + row[1].get<std::string>();
    row[2] = hostile;
    row[5] = hostile;
  }
  input.steps.rows[0][3] = "failed";
  input.steps.rows[1][3] = hostile;
  input.outputs.push_back({1, hostile});
  const std::string page = JobPage(input);
  EXPECT_FALSE(page.contains("<script"));
  EXPECT_EQ(CountOf(page, "</title>"), CountOf(page, "<title>"));
  EXPECT_FALSE(page.contains('\x1b'));
  EXPECT_FALSE(page.contains("\"' onload")) << "no attribute ends early";
}

TEST(JobPage, IsBounded) {
  JobPageInput input = Input(5000);
  for (auto& row : input.steps.rows) row[3] = "failed";
  const std::string page = JobPage(input);
  EXPECT_TRUE(page.contains("the first 100 are shown"));
  EXPECT_EQ(CountOf(page, "<td>done, code 0</td>"), kMaxPageFailures);
  EXPECT_EQ(CountOf(page, "<circle "), 6 * kMaxPoints);
  EXPECT_TRUE(page.contains("The first 1000 of 5000"));
}

TEST(JobPage, WorksBeforeAnyStepHasRun) {
  JobPageInput input = Input(2);
  for (auto& row : input.steps.rows) {
    for (std::size_t i = 5; i < row.size(); ++i) row[i] = nullptr;
    row[3] = "waiting";
  }
  const std::string page = JobPage(input);
  EXPECT_TRUE(page.contains("2 waiting"));
  EXPECT_FALSE(page.contains("<svg"));
  EXPECT_FALSE(page.contains("Failures"));
  input.steps.rows.clear();
  EXPECT_TRUE(JobPage(input).ends_with("</html>\n"));
}

TEST(JobPage, LeavesOutParametersWithManyNames) {
  JobPageInput input = Input(100);
  for (auto& row : input.steps.rows) row[2] = "file-" + row[1].get<std::string>();
  const std::string page = JobPage(input);
  EXPECT_FALSE(page.contains("seconds over model"));
  EXPECT_TRUE(page.contains("seconds over seed"));
}

TEST(JobPage, IgnoresValuesThatNoPictureCanShow) {
  JobPageInput input = Input(4);
  input.steps.rows[0].back() = 1e300;
  input.steps.rows[1].back() = "text";
  EXPECT_TRUE(JobPage(input).contains("loss over seed"));
}

TEST(TimeLine, UsesAsFewLanesAsPossible) {
  std::size_t lanes = 0;
  TimeLine({{5, 9, "done", "c"}, {0, 5, "done", "a"}, {1, 6, "failed", "b"}}, lanes);
  EXPECT_EQ(lanes, 2u);
  EXPECT_EQ(TimeLine({}, lanes), "");
  EXPECT_EQ(lanes, 0u);
}

TEST(TimeLine, DrawsWhatIsTooSmallAsOne) {
  std::vector<Span> spans;
  for (int i = 0; i < 100000; ++i) spans.push_back({i * 1.0, i + 1.0, "done", "x"});
  spans.push_back({200000, 300000, "failed", "y"});
  std::size_t lanes = 0;
  const std::string svg = TimeLine(spans, lanes);
  EXPECT_EQ(CountOf(svg, "<rect "), 2u);
  EXPECT_TRUE(svg.contains("100000 steps: done"));
}

TEST(Scatter, EndsForAnyRange) {
  const double big = 1e15;
  EXPECT_FALSE(Scatter({{big, 1, ""}, {big + 0.25, 1, ""}}, {}, "x", "y").empty());
  EXPECT_FALSE(Scatter({{0, -1e149, ""}, {1, 1e149, ""}}, {}, "x", "y").empty());
  EXPECT_TRUE(Scatter({}, {}, "x", "y").empty());
}

}  // namespace job_page_test
}  // namespace reveza::jobs
