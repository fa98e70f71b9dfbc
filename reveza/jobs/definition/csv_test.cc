#include <gtest/gtest.h>

#include <memory>

#include "reveza/jobs/definition/parameters.h"

namespace reveza::jobs {
namespace csv_test {

std::string ErrorOf(std::string_view text) {
  const auto rows = ParseCsv(text, "t.csv");
  return rows ? "" : rows.error().message;
}

TEST(ParseCsv, FirstLineNamesTheColumns) {
  const auto rows = ParseCsv("\xEF\xBB\xBFseed,name\n1,a\r\n\n2,b", "t.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->rows(), 2u);
  const auto table = std::make_shared<const ParameterTable>(*rows);
  EXPECT_EQ(Parameters(table, 0), (std::vector<Parameter>{{"seed", "1"}, {"name", "a"}}));
  EXPECT_EQ(Parameters(table, 1), (std::vector<Parameter>{{"seed", "2"}, {"name", "b"}}));
  EXPECT_EQ(ParseCsv("seed\n", "t.csv")->rows(), 0u);
}

TEST(ParseCsv, QuotedFieldsContainCommasQuotesAndNewlines) {
  const auto rows = ParseCsv("a,b\n\"x,\"\"y\"\"\nz\",\"\"\n, \n", "t.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->rows(), 2u);
  EXPECT_EQ(rows->At(0, 0).value, "x,\"y\"\nz");
  EXPECT_EQ(rows->At(0, 1).value, "");
  EXPECT_EQ(rows->At(1, 0).value, "");
  EXPECT_EQ(rows->At(1, 1).value, " ") << "blanks belong to the field";
}

TEST(ParseCsv, ErrorsHaveLineAndColumn) {
  EXPECT_TRUE(ErrorOf("").starts_with("t.csv:1:1: "));
  EXPECT_EQ(ErrorOf("a,learning rate\n"),
            "t.csv:1:3: 'learning rate' is not a valid parameter name; use learning_rate");
  EXPECT_EQ(ErrorOf("a,slot\n"), "t.csv:1:3: 'slot' is not a valid parameter name; use my_slot");
  EXPECT_EQ(ErrorOf("a,1\n"), "t.csv:1:3: '1' is not a valid parameter name; use my_1");
  EXPECT_NE(ErrorOf("a;b\n1;2\n").find("commas"), std::string::npos);
  EXPECT_EQ(ErrorOf("a,a\n"), "t.csv:1:3: duplicate column 'a'");
  EXPECT_EQ(ErrorOf("a,b\n1\n"), "t.csv:2:1: expected 2 fields, got 1");
  EXPECT_EQ(ErrorOf("a,b\n1,2\n1,2,3\n"), "t.csv:3:5: expected 2 fields, got 3");
  EXPECT_TRUE(ErrorOf("a\n\"x\ny").starts_with("t.csv:2:1: "));
  EXPECT_TRUE(ErrorOf("a,b\n1,\"x\ny\"z").starts_with("t.csv:3:3: "));
  EXPECT_TRUE(ErrorOf("a\nx\"y").starts_with("t.csv:2:2: "));
  EXPECT_TRUE(ErrorOf(std::string_view("a\n\0", 3)).starts_with("t.csv:2:1: "));
}

}  // namespace csv_test
}  // namespace reveza::jobs
