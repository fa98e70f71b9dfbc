#include <gtest/gtest.h>

#include <cmath>

#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

Result<SeriesTable> Read(std::string_view text, const ReadOptions& options = {}) {
  return ReadSeparated(text, "data.csv", options);
}

std::string ErrorOf(const Result<SeriesTable>& table) { return table ? "" : table.error().message; }

TEST(SeparatedTest, ReadsNamesAndRows) {
  const auto table = Read("a,b\n1,2\n3.5,-4e2\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table->values, (std::vector<double>{1, 2, 3.5, -400}));
  EXPECT_EQ(table->length(), 2);
}

TEST(SeparatedTest, WithoutNamesColumnsHaveNumbers) {
  const auto table = Read("1;2\r\n3;+4\r\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(table->values, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(Read("# made by hand\n\n1 2\n3   4\n")->values, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(Read("1\t2\n3\t4")->values, (std::vector<double>{1, 2, 3, 4}));
}

TEST(SeparatedTest, TakesTheColumnsThatAreAskedFor) {
  const auto table = Read("time,a,b,note\n1,2,3,x\n4,5,6,\"y,z\"\n", {.columns = {"b", "1"}});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(table->values, (std::vector<double>{3, 2, 6, 5}));
}

TEST(SeparatedTest, CutsTrialsWhereTheirColumnChanges) {
  const auto table = Read("a,trial\n1,x\n2,x\n3,y\n4,x\n", {.trials = "trial"});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->trials, (std::vector<std::int64_t>{0, 2, 3}));
  const auto views = table->Trials();
  ASSERT_EQ(views.size(), 3U);
  EXPECT_EQ(views[0].length, 2);
  EXPECT_EQ(views[1].Row(0)[0], 3.0);
  EXPECT_EQ(views[2].length, 1);
}

TEST(SeparatedTest, WhatIsNotKnownIsNotANumber) {
  const auto table = Read("a,b\n1,\nNA,2\nnan,null\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE(std::isnan(table->values[1]));
  EXPECT_TRUE(std::isnan(table->values[2]));
  EXPECT_TRUE(std::isnan(table->values[5]));
  EXPECT_EQ(Read("a\n1e999\n")->values[0], HUGE_VAL);
}

TEST(SeparatedTest, NamesLineAndColumnOfWhatIsWrong) {
  EXPECT_EQ(ErrorOf(Read("a,b\n1,2\n3,x\n")),
            "data.csv line 3: column 'b' has 'x', which is no number; choose the columns that have "
            "numbers with --columns");
  EXPECT_EQ(ErrorOf(Read("a,b\n1,2\n3\n")), "data.csv line 3: 1 fields, the first line has 2");
  EXPECT_EQ(ErrorOf(Read("")), "data.csv: it is empty");
  EXPECT_EQ(ErrorOf(Read("a,b\n")), "data.csv: it has no rows");
  EXPECT_EQ(ErrorOf(Read("alpha,beta\n1,2\n", {.columns = {"alpa"}})),
            "data.csv: there is no column 'alpa' (did you mean 'alpha'?); it has 2 columns");
  EXPECT_EQ(ErrorOf(Read("a,b\n1,2\n", {.columns = {"a", "0"}})), "column '0' is asked for twice");
  EXPECT_NE(ErrorOf(Read("a\n1\n", {.trials = "a"})), "");
}

}  // namespace
}  // namespace reveza::phi
