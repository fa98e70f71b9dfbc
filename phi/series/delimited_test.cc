#include <gtest/gtest.h>

#include <cmath>

#include "phi/series/series_table.h"

namespace reveza::phi {
namespace delimited_test {

Result<SeriesTable> Read(std::string_view text, const ReadOptions& options = {}) {
  return ReadDelimited(text, "data.csv", options);
}

std::string ErrorOf(const Result<SeriesTable>& table) { return table ? "" : table.error().message; }

TEST(DelimitedTest, ReadsNamesAndRows) {
  const auto table = Read("a,b\n1,2\n3.5,-4e2\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table->values, (std::vector<double>{1, 2, 3.5, -400}));
  EXPECT_EQ(table->length(), 2);
}

TEST(DelimitedTest, NumbersColumnsWithoutHeader) {
  const auto table = Read("1;2\r\n3;+4\r\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(table->values, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(Read("# made by hand\n\n1 2\n3   4\n")->values, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(Read("1\t2\n3\t4")->values, (std::vector<double>{1, 2, 3, 4}));
}

TEST(DelimitedTest, SkipsBlankLines) {
  const auto table = Read("  \r\na,b\n   \n1,2\n \n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table->values, (std::vector<double>{1, 2}));
  EXPECT_EQ(ErrorOf(Read("   \n \n")), "data.csv: the file is empty");
}

TEST(DelimitedTest, SelectsColumns) {
  const auto table = Read("time,a,b,note\n1,2,3,x\n4,5,6,\"y,z\"\n", {.columns = {"b", "1"}});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(table->values, (std::vector<double>{3, 2, 6, 5}));
}

TEST(DelimitedTest, SplitsTrialsAtColumnChanges) {
  const auto table = Read("a,trial\n1,x\n2,x\n3,y\n4,x\n", {.trials = "trial"});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->trials, (std::vector<std::int64_t>{0, 2, 3}));
  const auto views = table->Trials();
  ASSERT_EQ(views.size(), 3U);
  EXPECT_EQ(views[0].length, 2);
  EXPECT_EQ(views[1].Row(0)[0], 3.0);
  EXPECT_EQ(views[2].length, 1);
}

TEST(DelimitedTest, MissingValuesBecomeNaN) {
  const auto table = Read("a,b\n1,\nNA,2\nnan,null\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE(std::isnan(table->values[1]));
  EXPECT_TRUE(std::isnan(table->values[2]));
  EXPECT_TRUE(std::isnan(table->values[5]));
  EXPECT_EQ(Read("a\n1e999\n")->values[0], HUGE_VAL);
}

TEST(DelimitedTest, KeepsQuotedSeparatorsAndEmptyFields) {
  const auto table = Read("a,\"b,c\",, d,\n1,2,3,4,5\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"a", "b,c", "", "d", ""}));
}

TEST(DelimitedTest, UnquotesNames) {
  const auto table = Read("\"x\"\"y\",\"a;b\",\"\"\"\"\n1,2,3\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->names, (std::vector<std::string>{"x\"y", "a;b", "\""}));
}

TEST(DelimitedTest, TextBecomesNaNOnRequest) {
  EXPECT_FALSE(Read("a;b\n1;x,y\n"));
  const auto table = Read("a;b\n1;x,y\n", {.text_is_missing = true});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->values[0], 1.0);
  EXPECT_TRUE(std::isnan(table->values[1]));
}

TEST(DelimitedTest, ErrorsNameLineAndColumn) {
  EXPECT_EQ(ErrorOf(Read("a,b\n1,2\n3,x\n")),
            "data.csv line 3: column 'b' has 'x', which is not a number; select numeric columns "
            "with --columns");
  EXPECT_EQ(ErrorOf(Read("a,b\n1,2\n3\n")), "data.csv line 3: 1 fields, but the first line has 2");
  EXPECT_EQ(ErrorOf(Read("")), "data.csv: the file is empty");
  EXPECT_EQ(ErrorOf(Read("a,b\n")), "data.csv: no rows");
  EXPECT_NE(ErrorOf(Read("alpha,beta\n1,2\n", {.columns = {"alpa"}})).find("did you mean 'alpha'?"),
            std::string::npos);
  EXPECT_NE(ErrorOf(Read("a,b\n1,2\n", {.columns = {"a", "0"}})).find("column '0'"),
            std::string::npos);
  EXPECT_NE(ErrorOf(Read("a\n1\n", {.trials = "a"})), "");
}

TEST(DelimitedTest, ARowThatCountsColumnsAboveDecimalsIsAHeader) {
  for (const std::string first : {"0,1,2", "1,2,3"}) {
    const auto table = ReadDelimited(first + "\n0.5,1,2\n3,4,5\n", "s", {});
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->length(), 2) << first;
    EXPECT_EQ(table->names.back(), first.substr(4));
    EXPECT_TRUE(table->numbers_as_names);
    EXPECT_EQ(table->lines, (std::vector<std::int64_t>{2, 3}));
  }
  EXPECT_EQ(ReadDelimited("1,2,3\n0,0,0\n0.5,1,2\n", "s", {})->length(), 2);
  // After an index.
  const auto indexed = ReadDelimited(",0,1\n0,0.5,2\n1,4,5\n", "s", {});
  ASSERT_TRUE(indexed) << indexed.error().message;
  EXPECT_EQ(indexed->length(), 2);
  for (const char* text : {"0,1,2\n5,1,2\n", "0,1,3\n0.5,1,2\n", "2,3,4\n0.5,1,2\n",
                           "0.0,1,2\n0.5,1,2\n", "1\n0.5\n"}) {
    const auto table = ReadDelimited(text, "s", {});
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->length(), 2) << text;
    EXPECT_FALSE(table->numbers_as_names);
  }
}

TEST(DelimitedTest, TheHeaderMayBeStated) {
  using Header = ReadOptions::Header;
  const std::string text = "1,2\n3,4\n";
  EXPECT_EQ(ReadDelimited(text, "s", {})->length(), 2);
  const auto named = ReadDelimited(text, "s", {.header = Header::kYes});
  EXPECT_EQ(named->length(), 1);
  EXPECT_EQ(named->names, (std::vector<std::string>{"1", "2"}));
  const std::string counted = "0,1\n0.5,4\n";
  EXPECT_EQ(ReadDelimited(counted, "s", {.header = Header::kNo})->length(), 2);
  // As the coupling matrix of a model.
  EXPECT_EQ(ReadDelimited(counted, "s", {.header = Header::kText})->length(), 2);
  EXPECT_EQ(ReadDelimited("a,b\n0.5,4\n", "s", {.header = Header::kText})->length(), 1);
}

}  // namespace delimited_test
}  // namespace reveza::phi
