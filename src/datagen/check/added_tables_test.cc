// Data sets with what is there only where it is asked for: broken rows with their answer key, and
// graphs.
#include <gtest/gtest.h>

#include <sstream>

#include "datagen/check/testing_data_set.h"
#include "datagen/output/arrow_writer.h"
#include "datagen/output/format.h"

namespace reveza::datagen::check {
namespace {

using NoFindings = std::map<std::string, std::string>;

Added AllDefects() {
  Added added;
  for (Share& share : added.defects.of) share = {.billionths = 20'000'000};
  return added;
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

// Where the first line with this part is.
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

// The findings once one file of a data set with defects has been changed by `change`.
Names WrongAfter(const std::string& model, const std::string& file,
                 const std::function<void(std::vector<std::string>&)>& change) {
  const TestingDataSet data(model, {.format = Format::kJsonLines}, {}, AllDefects());
  auto lines = Lines(data.Read(file));
  change(lines);
  data.WriteAsMade(file, Text(lines));
  return data.Wrong();
}

TEST(CheckOfDefects, WithTheirAnswerKeyTheyAreFineInEveryFormat) {
  for (const std::string model : {"classic", "coherent"}) {
    for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv,
                                Format::kParquet, Format::kArrow}) {
      if (!HaveArrow() && (format == Format::kParquet || format == Format::kArrow)) continue;
      const TestingDataSet data(model, {.format = format}, {}, AllDefects());
      EXPECT_EQ(data.Findings(), NoFindings()) << model << NameOf(format);
      const auto outcomes = data.Check().outcomes;
      const auto found = std::ranges::find(
          outcomes, "defects: those of transactions in the answer key are there", &Outcome::name);
      ASSERT_NE(found, outcomes.end());
      EXPECT_EQ(found->detail, "900 looked at");
    }
  }
}

// The rows of a data set without folders, only divided: so the key is the same.
TEST(CheckOfDefects, InFoldersTheyAreTheSameRows) {
  const TestingDataSet flat("coherent", {.format = Format::kJsonLines}, {}, AllDefects());
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"year", "month"}, {"year", "month", "day"}, {"channel"}}) {
    const TestingDataSet data("coherent", {.format = Format::kJsonLines}, keys, AllDefects());
    EXPECT_EQ(data.Findings(), NoFindings()) << keys.back();
    for (const std::string key : {"defects_00000.jsonl", "defects_00001.jsonl"}) {
      EXPECT_TRUE(data.Read(key) == flat.Read(key)) << keys.back();
    }
  }
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"year", "month"}, {"status"}}) {
    const TestingDataSet data("classic", {.format = Format::kCsv}, keys, AllDefects());
    EXPECT_EQ(data.Findings(), NoFindings()) << keys.back();
  }
}

TEST(CheckOfDefects, InFoldersAKeyThatIsNotTrueIsFound) {
  const std::string there = "defects: those of transactions in the answer key are there";
  const auto wrong_after = [](const std::string& file, const auto& change) {
    const TestingDataSet data("coherent", {.format = Format::kJsonLines}, {"year"}, AllDefects());
    auto lines = Lines(data.Read(file));
    change(lines);
    data.WriteAsMade(file, Text(lines));
    return data.Wrong();
  };
  const std::string key = "defects_00000.jsonl";
  EXPECT_TRUE(wrong_after(key, [](auto& lines) {
                Replace(lines[Find(lines, "\"kind\":\"late\"")], "TXN_", "TXN_9");
              }).contains(there));
  EXPECT_TRUE(wrong_after(key, [](auto& lines) {
                Replace(lines[Find(lines, "\"column_name\":\"channel\"")], "channel", "status");
              }).contains(there));
  EXPECT_TRUE(wrong_after(key, [](auto& lines) {
                lines.erase(lines.begin() +
                            static_cast<std::ptrdiff_t>(Find(lines, "\"kind\":\"duplicate\"")));
              }).contains("keys: transactions.transaction_id is there once"));
}

TEST(CheckOfDefects, OneKindAloneIsFineToo) {
  for (std::size_t kind = 0; kind < kDefectKindNames.size(); ++kind) {
    for (const std::string model : {"classic", "coherent"}) {
      Added added;
      added.defects.of.at(kind) = DefectRates::kMost;
      const TestingDataSet data(model, {.format = Format::kCsv}, {}, added);
      EXPECT_EQ(data.Findings(), NoFindings()) << model << kDefectKindNames.at(kind);
    }
  }
}

TEST(CheckOfDefects, AKeyThatIsNotTrueIsFound) {
  const std::string there = "defects: those of transactions in the answer key are there";
  const std::string key = "defects_00000.jsonl";
  // Another row than the key has, a column that is whole, a value that the column cannot have.
  EXPECT_TRUE(WrongAfter("coherent", key, [](auto& lines) {
                Replace(lines[Find(lines, "\"kind\":\"late\"")], "TXN_", "TXN_9");
              }).contains(there));
  EXPECT_TRUE(WrongAfter("coherent", key, [](auto& lines) {
                Replace(lines[Find(lines, "\"column_name\":\"channel\"")], "channel", "status");
              }).contains(there));
  EXPECT_TRUE(WrongAfter("coherent", key, [](auto& lines) {
                Replace(lines[Find(lines, "\"column_name\":\"amount\"")], "right_value\":\"",
                        "right_value\":\"x");
              }).contains(there));
  EXPECT_TRUE(WrongAfter("classic", key, [](auto& lines) {
                Replace(lines[Find(lines, "\"kind\":\"duplicate\"")], "duplicate", "late");
              }).contains("keys: transactions.transaction_id is there once"));
}

TEST(CheckOfDefects, WhatTheKeyDoesNotHaveIsFound) {
  const std::string rows = "transactions_00000.jsonl";
  EXPECT_EQ(WrongAfter("classic", rows,
                       [](auto& lines) {
                         Replace(lines[Find(lines, "\"currency\":\"BRL\"")], "\"BRL\"", "null");
                       }),
            Names{"transactions: nulls only where the schema allows them"});
  EXPECT_EQ(WrongAfter("classic", rows,
                       [](auto& lines) {
                         Replace(lines[Find(lines, "\"currency\":\"BRL\"")], "\"BRL\"", "\"USD\"");
                       }),
            Names{"transactions: categories are those of the schema"});
  // Two sound rows that changed places, and a row that is there twice instead of its neighbour.
  EXPECT_TRUE(WrongAfter("classic", rows, [](auto& lines) {
                std::swap(lines[0], lines[4'000]);
              }).contains("defects: transactions has no others, its rows are in order"));
  EXPECT_TRUE(WrongAfter("coherent", rows, [](auto& lines) {
                std::swap(lines[0], lines[4'000]);
              }).contains("timeline: rows of a block are in order of time"));
  EXPECT_TRUE(WrongAfter("coherent", rows, [](auto& lines) {
                lines[0] = lines[1];
              }).contains("keys: transactions.transaction_id is there once"));
}

TEST(CheckOfGraphs, SoundOnesAreFineInEveryFormat) {
  for (const Format format : {Format::kJsonLines, Format::kCsv, Format::kParquet}) {
    if (!HaveArrow() && format == Format::kParquet) continue;
    const TestingDataSet data("coherent", {.format = format}, {}, {.graph = true});
    EXPECT_EQ(data.Findings(), NoFindings()) << NameOf(format);
    const auto outcomes = data.Check().outcomes;
    const auto found = std::ranges::find(
        outcomes, "edges: are the payments of their block that were made to somebody",
        &Outcome::name);
    ASSERT_NE(found, outcomes.end());
    EXPECT_EQ(found->detail, "2 looked at");
  }
}

TEST(CheckOfGraphs, WithDefectsTheyAreOfTheSoundRows) {
  Added added = AllDefects();
  added.graph = true;
  const TestingDataSet data("coherent", {.format = Format::kTsv}, {}, added);
  EXPECT_EQ(data.Findings(), NoFindings());
}

TEST(CheckOfGraphs, EdgesThatAreNotThePaymentsAreFound) {
  const auto wrong_after = [](const std::string& file, const auto& change) {
    const TestingDataSet data("coherent", {.format = Format::kJsonLines}, {}, {.graph = true});
    auto lines = Lines(data.Read(file));
    change(lines);
    data.WriteAsMade(file, Text(lines));
    return data.Wrong();
  };
  EXPECT_EQ(wrong_after("nodes_00001.jsonl", [](auto& lines) { lines[1] = lines[0]; }),
            (Names{"nodes: each is there once in its block", "edges: join nodes of their block"}));
  EXPECT_EQ(wrong_after("edges_00000.jsonl",
                        [](auto& lines) {
                          Replace(lines[Find(lines, "SENDS")], "\"amount\":", "\"amount\":1");
                        }),
            Names{"edges: are the payments of their block that were made to somebody"});
}

}  // namespace
}  // namespace reveza::datagen::check
