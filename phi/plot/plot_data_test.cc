#include "phi/plot/plot_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/platform/testing_directory.h"
#include "phi/plot/charts.h"
#include "phi/plot/svg.h"
#include "phi/plot/table_file.h"

namespace reveza::phi {
namespace plot_data_test {

// Deterministic pseudo-random noise.
double Noise(int i) {
  const double product = std::sin(i * 12.9898) * 43758.5453;
  return product - std::floor(product) - 0.5;
}

// The second variable follows the first one step later; the third is independent.
std::string Rows(int runs, int cycles) {
  std::string text = "run,cycle,hash,mean_first,mean_second,mean_third,rho_c_norm,phi_legacy,si\n";
  for (int run = 0; run < runs; ++run) {
    double before = 0;
    for (int cycle = 1; cycle <= cycles; ++cycle) {
      const double first = Noise(1000 * run + 3 * cycle);
      const double second = before + 0.3 * Noise(1000 * run + 3 * cycle + 1);
      const double third = Noise(1000 * run + 3 * cycle + 2);
      text += std::to_string(run) + "," + std::to_string(cycle) + ",00ff00ff00ff00ff," +
              std::to_string(first) + "," + std::to_string(second) + "," + std::to_string(third) +
              ",9,";
      text += cycle % 10 == 0 ? "0." + std::to_string(10 + run) + ",1.5\n" : ",\n";
      before = first;
    }
  }
  return text;
}

const RunParameters kRun = {.dimension = 768, .window = 50, .lag = 1, .minimum = false};

PlotData FactsOf(const std::string& text, const PlotOptions& options = {},
                 const std::optional<RunParameters>& run = kRun) {
  auto table = PlotTableFromCsv(text, "rows.csv");
  EXPECT_TRUE(table.has_value());
  table->run = run;
  const auto data = MakePlotData(*table, "rows.csv", options);
  EXPECT_TRUE(data.has_value()) << data.error().message;
  return *data;
}

TEST(PlotDataTest, GroupsMeasuresByRun) {
  const PlotData data = FactsOf(Rows(2, 100));
  ASSERT_EQ(data.tracks.size(), 2U);
  const Track& track = data.tracks[0];
  EXPECT_EQ(track.measure, "phi_legacy");
  EXPECT_EQ(track.x.size(), 10U);
  EXPECT_EQ(track.x.front(), 10);
  ASSERT_EQ(track.runs.size(), 2U);
  EXPECT_EQ(track.runs[1][3], 0.11);
  EXPECT_EQ(data.x_name, "cycle");
  EXPECT_EQ(data.variables, (std::vector<std::string>{"first", "second", "third"}));
}

TEST(PlotDataTest, ComputesNullBands) {
  const PlotData data = FactsOf(Rows(1, 100));
  ASSERT_TRUE(data.tracks[0].null_band);
  // 0.6 of a triple of noises, 0.19, and 0.4 of the modules', 0.05.
  EXPECT_GT(data.tracks[0].null_band->low, 0.12);
  EXPECT_NEAR(data.tracks[0].null_band->mean, 0.132, 0.005);
  EXPECT_LT(data.tracks[0].null_band->high, 0.15);
  ASSERT_TRUE(data.tracks[1].null_band);
  EXPECT_GT(data.tracks[1].null_band->high, 0);
  EXPECT_LT(data.tracks[1].null_band->high, 1.5);
}

TEST(PlotDataTest, SurrogatesUseTheRunsOptions) {
  const auto band_of = [](const std::optional<RunParameters>& run) {
    const PlotData data = FactsOf(Rows(1, 100), {}, run);
    EXPECT_TRUE(data.tracks[1].null_band);
    return data.tracks[1].null_band->high;
  };
  // One bipartition of three loses less than the atomic partition.
  RunParameters minimum = kRun;
  minimum.minimum = true;
  EXPECT_LT(band_of(minimum), band_of(kRun));
  RunParameters lagging = kRun;
  lagging.lag = 2;
  EXPECT_NE(band_of(lagging), band_of(kRun));
}

TEST(PlotDataTest, OmitsNullBandWithoutSummary) {
  const PlotData data = FactsOf(Rows(1, 100), {}, std::nullopt);
  EXPECT_FALSE(data.tracks[0].null_band);
  EXPECT_FALSE(data.tracks[1].null_band);
  ASSERT_EQ(data.notices.size(), 2U);
  EXPECT_NE(data.notices[1].find("give its folder"), std::string::npos);
}

TEST(PlotDataTest, FindsTransferEntropyAndPartition) {
  const PlotData data = FactsOf(Rows(1, 200));
  ASSERT_TRUE(data.pairs);
  EXPECT_GT(data.pairs->transfer[1], 0.5);
  EXPECT_LT(data.pairs->p[1], 1e-6);
  EXPECT_LT(data.pairs->transfer[3], 0.05);
  ASSERT_TRUE(data.partition);
  EXPECT_EQ(data.partition->part[0], data.partition->part[1]);
  EXPECT_NE(data.partition->part[0], data.partition->part[2]);
}

TEST(PlotDataTest, MeasuresPlainSeriesInWindows) {
  std::string text = "a;b\n";
  for (int i = 0; i < 300; ++i) {
    text += std::to_string(Noise(2 * i)) + ";" + std::to_string(Noise(2 * i + 1)) + "\n";
  }
  PlotOptions options;
  options.window = 100;
  const PlotData data = FactsOf(text, options);
  ASSERT_EQ(data.tracks.size(), 2U);
  EXPECT_EQ(data.tracks[0].measure, "si");
  EXPECT_EQ(data.tracks[0].x.size(), 201U);
  EXPECT_EQ(data.tracks[0].x.front(), 99);
  options.window = 301;
  const auto table = PlotTableFromCsv(text, "rows.csv");
  const auto refused = MakePlotData(*table, "rows.csv", options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("smaller --window"), std::string::npos);
}

TEST(PlotDataTest, NamesLineAndColumnOfMissingValues) {
  std::string text = "a,b\n";
  for (int i = 0; i < 300; ++i) {
    text += i == 3 ? "1,\n" : fmt::format("{},{}\n", Noise(2 * i), Noise(2 * i + 1));
  }
  const auto data = MakePlotData(*PlotTableFromCsv(text, "gap.csv"), "gap.csv", {});
  ASSERT_FALSE(data);
  EXPECT_TRUE(data.error().message.starts_with("gap.csv line 5: 'b' is nan"))
      << data.error().message;
}

TEST(PlotDataTest, ReadsWindowsOfPhiMeasure) {
  const PlotData data = FactsOf(
      "window,first_row,last_row,si,si_partition,phi_r\n0,0,49,0.5,\"0,1|2\",0.1\n"
      "1,1,50,0.25,\"0|1,2\",0.2\n");
  ASSERT_EQ(data.tracks.size(), 2U);
  EXPECT_EQ(data.tracks[1].x, (std::vector<double>{49, 50}));
  EXPECT_FALSE(data.pairs);
  EXPECT_NE(HtmlPage(data).find("is not known"), std::string::npos);
}

TEST(PlotDataTest, ReportsMissingCharts) {
  std::string text = "cycle,mean_a,mean_b,phi_legacy\n";
  for (int i = 0; i < 60; ++i)
    text += std::to_string(i) + "," + std::to_string(Noise(i)) + ",1,.5\n";
  const PlotData data = FactsOf(text);
  EXPECT_FALSE(data.pairs);
  ASSERT_EQ(data.notices.size(), 1U);
  EXPECT_NE(HtmlPage(data).find("no matrix of pairs"), std::string::npos);
}

TEST(PlotDataTest, RejectsTablesWithoutMeasuresOrVariables) {
  const auto table = PlotTableFromCsv("a\n1\n2\n", "one.csv");
  const auto data = MakePlotData(*table, "one.csv", {});
  ASSERT_FALSE(data);
  EXPECT_NE(data.error().message.find("nothing to draw"), std::string::npos);
  EXPECT_FALSE(PlotTableFromCsv("", "empty.csv"));
  const auto uneven = PlotTableFromCsv("a,b\n1,2\n3\n", "uneven.csv");
  ASSERT_FALSE(uneven);
  EXPECT_NE(uneven.error().message.find("uneven.csv line 3"), std::string::npos);
}

TEST(PlotTableTest, ReadsTheFolderOfARun) {
  const platform::TestingDirectory folder;
  EXPECT_FALSE(ReadPlotTable(folder.path().string()));
  folder.Write("rows.csv", Rows(1, 20));
  const auto table = ReadPlotTable(folder.path().string());
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows(), 20U);
  EXPECT_TRUE(std::isnan((*table->Find("hash"))[0]));
  EXPECT_FALSE(table->run);
  folder.Write("summary.json",
               R"({"parameters":{"dimension":"64","window":"60","lag":"2","mip":"yes"}})");
  for (const auto& path : {folder.path(), folder.path() / "rows.csv"}) {
    const auto run = ReadPlotTable(path.string())->run;
    ASSERT_TRUE(run);
    EXPECT_EQ(run->dimension, 64);
    EXPECT_EQ(run->window, 60);
    EXPECT_EQ(run->lag, 2);
    EXPECT_TRUE(run->minimum);
  }
  folder.Write("summary.json", R"({"parameters":{"dimension":"64","window":"60","lag":"2"}})");
  EXPECT_FALSE(ReadPlotTable(folder.path().string())->run);
}

TEST(PageTest, EscapesFileContents) {
  PlotData data;
  data.source = "<script>alert(1)</script>";
  data.x_name = "row";
  data.tracks.push_back({"si", {0, 1}, {{1, 2}}, std::nullopt});
  data.variables = {"a&b<", "\"c\""};
  data.partition = PartitionData{{0, 1}, 0.5, "si", true};
  for (const std::string& text : {HtmlPage(data), SvgPicture(data)}) {
    EXPECT_EQ(text.find("<script"), std::string::npos);
    EXPECT_NE(text.find("a&amp;b&lt;"), std::string::npos);
  }
  EXPECT_EQ(SvgPicture(data).find("var(--"), std::string::npos);
}

TEST(PageTest, AxesHaveUnits) {
  PlotData data;
  data.x_name = "row";
  data.tracks.push_back({"si", {0, 1}, {{1, 2}}, std::nullopt});
  EXPECT_NE(SvgPicture(data).find(">nats</text>"), std::string::npos);
  EXPECT_NE(SvgPicture(data).find(">row</text>"), std::string::npos);
  data.tracks.front().measure = "phi_legacy";
  EXPECT_EQ(SvgPicture(data).find(">nats</text>"), std::string::npos);
}

TEST(SvgTest, ShortNamesKeepWholeCharacters) {
  std::string name;
  for (int i = 0; i < 30; ++i) name += "\u00e9";
  std::string cut;
  for (int i = 0; i < 16; ++i) cut += "\u00e9";
  EXPECT_EQ(ShortName(name, 17), cut + "\u2026");
  EXPECT_EQ(ShortName("a" + name, 17), "a" + cut.substr(2) + "\u2026");
  EXPECT_EQ(ShortName(cut, 17), cut);
  EXPECT_EQ(ShortName(cut + "x", 17), cut + "x");
  EXPECT_EQ(ShortName("", 17), "");
}

TEST(SvgTest, EscapesInvalidUtf8) {
  EXPECT_EQ(EscapeXml("\u00e9\u20ac\U0001f600<"), "\u00e9\u20ac\U0001f600&lt;");
  EXPECT_EQ(EscapeXml("caf\xe9"), "caf\ufffd");
  // An overlong slash, half of a surrogate pair, and a sequence that ends too early.
  EXPECT_EQ(EscapeXml("\xc0\xaf"), "\ufffd\ufffd");
  EXPECT_EQ(EscapeXml("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(EscapeXml("\xe2\x82x"), "\ufffd\ufffdx");
}

TEST(PageTest, LongNamesAreValidUtf8) {
  std::string name = "a";
  for (int i = 0; i < 30; ++i) name += "\u00e9";
  PlotData data;
  data.x_name = "row";
  data.variables = {name, "b"};
  data.pairs = PairMatrix{{0, 1, 1, 0}, {1, 0, 0, 1}};
  data.partition = PartitionData{{0, 1}, 0.5, "si", true};
  for (const std::string& text : {HtmlPage(data), SvgPicture(data)}) {
    EXPECT_EQ(text.find("\xc3\u2026"), std::string::npos);
    // Nothing was cut, and replaced.
    EXPECT_EQ(text.find("\ufffd"), std::string::npos);
    EXPECT_NE(text.find("\u00e9\u2026"), std::string::npos);
    EXPECT_NE(text.find("from rows to columns"), std::string::npos);
    EXPECT_NE(text.find(">from</text>"), std::string::npos);
    EXPECT_NE(text.find(">to</text>"), std::string::npos);
  }
}

TEST(SvgTest, TicksAreRound) {
  const Scale scale = NiceScale(0.013, 0.287, 100, 0);
  EXPECT_EQ(scale.min, 0);
  EXPECT_DOUBLE_EQ(scale.max, 0.3);
  EXPECT_EQ(scale(scale.min), 100);
  EXPECT_EQ(Ticks(scale, 3).size(), 4U);
  const Scale flat = NiceScale(2, 2, 0, 1);
  EXPECT_LT(flat.min, 2);
  EXPECT_GT(flat.max, 2);
}

}  // namespace plot_data_test
}  // namespace reveza::phi
