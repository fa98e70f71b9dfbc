// Data sets with optional tables: defects with their answer key, and graphs.
#include <gtest/gtest.h>

#include <sstream>

#include "common/table/arrow.h"
#include "fraudgen/check/testing_data_set.h"
#include "fraudgen/output/table_writer.h"

namespace reveza::fraudgen::check {
namespace added_tables_test {

using NoFindings = std::map<std::string, std::string>;

Extras AllDefects() {
  Extras extras;
  for (Share& share : extras.defects.of) share = {.billionths = 20'000'000};
  return extras;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string Text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Returns the index of the first line that contains `part`.
std::size_t Find(const std::vector<std::string>& lines, std::string_view part) {
  const auto found =
      std::ranges::find_if(lines, [&](const std::string& line) { return line.contains(part); });
  EXPECT_NE(found, lines.end()) << part;
  return static_cast<std::size_t>(found - lines.begin());
}

void Replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " in " << text;
  text.replace(at, from.size(), to);
}

// Applies `change` to a file of a data set with defects. Returns the failed checks.
Names FailedAfter(const std::string& model, const std::string& file,
                  const std::function<void(std::vector<std::string>&)>& change) {
  const TestingDataSet data(model, {.format = Format::kJsonLines}, {}, AllDefects());
  auto lines = Lines(data.Read(file));
  change(lines);
  data.WriteAsMade(file, Text(lines));
  return data.FailedChecks();
}

TEST(CheckOfDefects, PassesWithAnswerKeyInEveryFormat) {
  for (const std::string model : {"classic", "coherent"}) {
    for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv,
                                Format::kParquet, Format::kArrow}) {
      if (!kHaveArrow && (format == Format::kParquet || format == Format::kArrow)) continue;
      const TestingDataSet data(model, {.format = format}, {}, AllDefects());
      EXPECT_EQ(data.Findings(), NoFindings()) << model << NameOf(format);
      const auto outcomes = data.Check().outcomes;
      const auto found = std::ranges::find(
          outcomes, "defects: transactions has the defects of the answer key", &Outcome::name);
      ASSERT_NE(found, outcomes.end());
      EXPECT_EQ(found->detail, "900 checked");
    }
  }
}

// Partitioning does not change rows, so the answer key is the same.
TEST(CheckOfDefects, PartitionedDefectsAreTheSame) {
  const TestingDataSet flat("coherent", {.format = Format::kJsonLines}, {}, AllDefects());
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"year", "month"}, {"year", "month", "day"}, {"channel"}}) {
    const TestingDataSet data("coherent", {.format = Format::kJsonLines}, keys, AllDefects());
    EXPECT_EQ(data.Findings(), NoFindings()) << keys.back();
    for (const std::string key : {"defects/part-00000.jsonl", "defects/part-00001.jsonl"}) {
      EXPECT_TRUE(data.Read(key) == flat.Read(key)) << keys.back();
    }
  }
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"year", "month"}, {"status"}}) {
    const TestingDataSet data("classic", {.format = Format::kCsv}, keys, AllDefects());
    EXPECT_EQ(data.Findings(), NoFindings()) << keys.back();
  }
}

TEST(CheckOfDefects, DetectsWrongAnswerKeyOfPartitionedData) {
  const std::string key_check = "defects: transactions has the defects of the answer key";
  const auto failed_after = [](const std::string& file, const auto& change) {
    const TestingDataSet data("coherent", {.format = Format::kJsonLines}, {"year"}, AllDefects());
    auto lines = Lines(data.Read(file));
    change(lines);
    data.WriteAsMade(file, Text(lines));
    return data.FailedChecks();
  };
  const std::string key = "defects/part-00000.jsonl";
  EXPECT_TRUE(failed_after(key, [](auto& lines) {
                Replace(lines[Find(lines, "\"kind\":\"late\"")], "TXN_", "TXN_9");
              }).contains(key_check));
  EXPECT_TRUE(failed_after(key, [](auto& lines) {
                Replace(lines[Find(lines, "\"column_name\":\"channel\"")], "channel", "status");
              }).contains(key_check));
  EXPECT_TRUE(failed_after(key, [](auto& lines) {
                lines.erase(lines.begin() +
                            static_cast<std::ptrdiff_t>(Find(lines, "\"kind\":\"duplicate\"")));
              }).contains("keys: transactions.transaction_id is unique"));
}

TEST(CheckOfDefects, PassesWithSingleKindOfDefect) {
  for (std::size_t kind = 0; kind < kDefectKindNames.size(); ++kind) {
    for (const std::string model : {"classic", "coherent"}) {
      Extras extras;
      extras.defects.of.at(kind) = DefectRates::kMaxShare;
      const TestingDataSet data(model, {.format = Format::kCsv}, {}, extras);
      EXPECT_EQ(data.Findings(), NoFindings()) << model << kDefectKindNames.at(kind);
    }
  }
}

TEST(CheckOfDefects, DetectsWrongAnswerKey) {
  const std::string key_check = "defects: transactions has the defects of the answer key";
  const std::string key = "defects/part-00000.jsonl";
  // A wrong row, a column without defect, an invalid value.
  EXPECT_TRUE(FailedAfter("coherent", key, [](auto& lines) {
                Replace(lines[Find(lines, "\"kind\":\"late\"")], "TXN_", "TXN_9");
              }).contains(key_check));
  EXPECT_TRUE(FailedAfter("coherent", key, [](auto& lines) {
                Replace(lines[Find(lines, "\"column_name\":\"channel\"")], "channel", "status");
              }).contains(key_check));
  EXPECT_TRUE(FailedAfter("coherent", key, [](auto& lines) {
                Replace(lines[Find(lines, "\"column_name\":\"amount\"")], "right_value\":\"",
                        "right_value\":\"x");
              }).contains(key_check));
  EXPECT_TRUE(FailedAfter("classic", key, [](auto& lines) {
                Replace(lines[Find(lines, "\"kind\":\"duplicate\"")], "duplicate", "late");
              }).contains("keys: transactions.transaction_id is unique"));
}

TEST(CheckOfDefects, DetectsDefectsMissingFromAnswerKey) {
  const std::string rows = "transactions/part-00000.jsonl";
  EXPECT_EQ(FailedAfter("classic", rows,
                        [](auto& lines) {
                          Replace(lines[Find(lines, "\"currency\":\"BRL\"")], "\"BRL\"", "null");
                        }),
            Names{"transactions: nulls only in nullable columns"});
  EXPECT_EQ(FailedAfter("classic", rows,
                        [](auto& lines) {
                          Replace(lines[Find(lines, "\"currency\":\"BRL\"")], "\"BRL\"", "\"USD\"");
                        }),
            Names{"transactions: categories match the schema"});
  // Two swapped rows, and a row replaced by a copy of its neighbour.
  EXPECT_TRUE(FailedAfter("classic", rows, [](auto& lines) {
                std::swap(lines[0], lines[4'000]);
              }).contains("defects: transactions has no other displaced rows"));
  EXPECT_TRUE(FailedAfter("coherent", rows, [](auto& lines) {
                std::swap(lines[0], lines[4'000]);
              }).contains("timeline: rows of a block are in order of time"));
  EXPECT_TRUE(FailedAfter("coherent", rows, [](auto& lines) {
                lines[0] = lines[1];
              }).contains("keys: transactions.transaction_id is unique"));
}

TEST(CheckOfGraphs, SoundGraphPassesInEveryFormat) {
  for (const Format format : {Format::kJsonLines, Format::kCsv, Format::kParquet}) {
    if (!kHaveArrow && format == Format::kParquet) continue;
    const TestingDataSet data("coherent", {.format = format}, {}, {.graph = true});
    EXPECT_EQ(data.Findings(), NoFindings()) << NameOf(format);
    const auto outcomes = data.Check().outcomes;
    const auto found =
        std::ranges::find(outcomes, "edges: match the payments of their block", &Outcome::name);
    ASSERT_NE(found, outcomes.end());
    EXPECT_EQ(found->detail, "2 checked");
  }
}

TEST(CheckOfGraphs, GraphMatchesRepairedRows) {
  Extras extras = AllDefects();
  extras.graph = true;
  const TestingDataSet data("coherent", {.format = Format::kTsv}, {}, extras);
  EXPECT_EQ(data.Findings(), NoFindings());
}

TEST(CheckOfGraphs, DetectsWrongNodesAndEdges) {
  const auto failed_after = [](const std::string& file, const auto& change) {
    const TestingDataSet data("coherent", {.format = Format::kJsonLines}, {}, {.graph = true});
    auto lines = Lines(data.Read(file));
    change(lines);
    data.WriteAsMade(file, Text(lines));
    return data.FailedChecks();
  };
  EXPECT_EQ(failed_after("nodes/part-00001.jsonl", [](auto& lines) { lines[1] = lines[0]; }),
            (Names{"nodes: unique within a block", "edges: connect nodes of their block"}));
  EXPECT_EQ(failed_after("edges/part-00000.jsonl",
                         [](auto& lines) {
                           Replace(lines[Find(lines, "SENDS")], "\"amount\":", "\"amount\":1");
                         }),
            Names{"edges: match the payments of their block"});
}

}  // namespace added_tables_test
}  // namespace reveza::fraudgen::check
