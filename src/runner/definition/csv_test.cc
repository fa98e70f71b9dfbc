#include <gtest/gtest.h>

#include "runner/definition/parameters.h"

namespace reveza::runner {
namespace {

std::string Refusal(std::string_view text) {
  const auto rows = ParseCsv(text, "t.csv");
  return rows ? "" : rows.error().message;
}

TEST(ParseCsv, TheFirstLineNamesTheColumns) {
  const auto rows = ParseCsv("\xEF\xBB\xBFseed,name\n1,a\r\n\n2,b", "t.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0], (std::vector<Parameter>{{"seed", "1"}, {"name", "a"}}));
  EXPECT_EQ((*rows)[1], (std::vector<Parameter>{{"seed", "2"}, {"name", "b"}}));
  EXPECT_TRUE(ParseCsv("seed\n", "t.csv")->empty());
}

TEST(ParseCsv, QuotedFieldsHoldAnything) {
  const auto rows = ParseCsv("a,b\n\"x,\"\"y\"\"\nz\",\"\"\n, \n", "t.csv");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0][0].value, "x,\"y\"\nz");
  EXPECT_EQ((*rows)[0][1].value, "");
  EXPECT_EQ((*rows)[1][0].value, "");
  EXPECT_EQ((*rows)[1][1].value, " ") << "blanks belong to the field";
}

TEST(ParseCsv, SaysLineAndColumn) {
  EXPECT_EQ(Refusal(""), "t.csv:1:1: the table is empty; write names in its first line");
  EXPECT_EQ(Refusal("a,learning rate\n"),
            "t.csv:1:3: 'learning rate' cannot name a parameter; write learning_rate");
  EXPECT_EQ(Refusal("a,slot\n"), "t.csv:1:3: 'slot' cannot name a parameter; write my_slot");
  EXPECT_EQ(Refusal("a,1\n"), "t.csv:1:3: '1' cannot name a parameter; write my_1");
  EXPECT_EQ(Refusal("a;b\n1;2\n"), "t.csv:1:1: the fields of a table have commas between them");
  EXPECT_EQ(Refusal("a,a\n"), "t.csv:1:3: 'a' is named twice");
  EXPECT_EQ(Refusal("a,b\n1\n"), "t.csv:2:1: 1 fields, but the first line has 2");
  EXPECT_EQ(Refusal("a,b\n1,2\n1,2,3\n"), "t.csv:3:5: 3 fields, but the first line has 2");
  EXPECT_EQ(Refusal("a\n\"x\ny").find("t.csv:2:1: a quote that is not closed"), 0u);
  EXPECT_EQ(Refusal("a,b\n1,\"x\ny\"z").find("t.csv:3:3: text behind a closing quote"), 0u);
  EXPECT_EQ(Refusal("a\nx\"y").find("t.csv:2:2: a quote inside a field"), 0u);
  EXPECT_EQ(Refusal(std::string_view("a\n\0", 3)).find("t.csv:2:1: a zero byte"), 0u);
}

}  // namespace
}  // namespace reveza::runner
