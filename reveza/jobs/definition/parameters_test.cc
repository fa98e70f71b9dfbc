#include "reveza/jobs/definition/parameters.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace parameters_test {

using Words = std::vector<std::string>;

std::string Values(std::string_view word) {
  const auto values = ExpandValues(word, "/nowhere");
  if (!values) return "error: " + values.error().message;
  std::string text;
  for (const std::string& value : *values) text += (text.empty() ? "" : " ") + value;
  return text;
}

// Formats each row as "a=1,b=2"; or returns the error.
Words Rows(const Result<ParameterTable>& table) {
  if (!table) return {table.error().message};
  const auto shared = std::make_shared<const ParameterTable>(*table);
  Words all;
  for (std::size_t row = 0; row < shared->rows(); ++row) {
    std::string& text = all.emplace_back();
    for (const auto parameter : Parameters(shared, row)) {
      text += (text.empty() ? "" : ",") + std::string(parameter.name) + "=";
      text += parameter.value;
    }
  }
  return all;
}

Words GridOf(const Words& words) {
  const auto axes = ParseAxes(words, "/nowhere");
  if (!axes) return {axes.error().message};
  return Rows(Grid(*axes));
}

TEST(ExpandValues, PlainWordsAreKept) {
  for (const std::string_view word : {"a", "1", "", "../x", "a..b", "1..", "..5", "1...5", "1..x",
                                      "1.2.3", "@", "-", "1e3..2e3", "1234567890123456..2"}) {
    EXPECT_EQ(Values(word), word);
  }
  EXPECT_EQ(Values("@@home"), "@home");
}

TEST(ExpandValues, ExpandsRanges) {
  EXPECT_EQ(Values("1..5"), "1 2 3 4 5");
  EXPECT_EQ(Values("0..10..2"), "0 2 4 6 8 10");
  EXPECT_EQ(Values("0..9..4"), "0 4 8");
  EXPECT_EQ(Values("3..1"), "3 2 1");
  EXPECT_EQ(Values("10..0..5"), "10 5 0");
  EXPECT_EQ(Values("10..0..-5"), "10 5 0");
  EXPECT_EQ(Values("-2..1"), "-2 -1 0 1");
  EXPECT_EQ(Values("7..7"), "7");
  EXPECT_EQ(Values("08..11"), "08 09 10 11");
  EXPECT_EQ(Values("0.1..0.5..0.1"), "0.1 0.2 0.3 0.4 0.5") << "no rounding";
  EXPECT_EQ(Values("-0.5..1"), "-0.5 0.5");
  EXPECT_EQ(Values("1..0..0.25"), "1.00 0.75 0.50 0.25 0.00");
}

TEST(ExpandValues, RejectsEmptyAndHugeRanges) {
  EXPECT_NE(Values("1..5..0").find("must not be 0"), std::string::npos);
  EXPECT_NE(Values("1..5..-1").find("is empty"), std::string::npos);
  EXPECT_EQ(Values("0..1000000"),
            "error: range '0..1000000' has 1000001 values; a job has at most 1000000 steps");
  EXPECT_NE(Values("0..999999999999999").find("at most"), std::string::npos);
  EXPECT_NE(Values("0..999999999999999..0.00000000000001").find("too large"), std::string::npos);
  EXPECT_NE(Values("-900000000000000..900000000000000..0.0001").find("too far apart"),
            std::string::npos);
}

TEST(ExpandValues, ReadsTheLinesOfAFile) {
  platform::TestingDirectory folder;
  folder.Write("list", "one\n\ntwo words\r\n1..5");
  EXPECT_EQ(ExpandValues("@list", folder.path()), (Words{"one", "two words", "1..5"}));
  EXPECT_EQ(ExpandValues("@" + (folder / "list").string(), "/nowhere"),
            (Words{"one", "two words", "1..5"}));
  folder.Write("empty", "\n\n");
  EXPECT_FALSE(ExpandValues("@empty", folder.path()));
  const auto absent = ExpandValues("@absent", folder.path());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Error::Code::kNotFound);
  EXPECT_NE(absent.error().message.find("@@"), std::string::npos)
      << "the error mentions the escape";
  EXPECT_FALSE(ExpandValues("@.", folder.path())) << "a folder";
  folder.Write("zero", std::string_view("a\nb\0c", 5));
  const auto zero = ExpandValues("@zero", folder.path());
  ASSERT_FALSE(zero);
  EXPECT_NE(zero.error().message.find("zero:2: "), std::string::npos);
}

TEST(Grid, LastParameterVariesFastest) {
  EXPECT_EQ(GridOf({}), Words{""}) << "no parameters: one step";
  EXPECT_EQ(GridOf({":::", "a", "1", "2"}), (Words{"a=1", "a=2"}));
  EXPECT_EQ(GridOf({":::", "a", "1..2", ":::", "b", "x", "y"}),
            (Words{"a=1,b=x", "a=1,b=y", "a=2,b=x", "a=2,b=y"}));
}

TEST(Grid, PairsLinkedParameters) {
  EXPECT_EQ(GridOf({":::", "a", "1..2", ":::+", "b", "x", "y", ":::", "c", "7", "8"}),
            (Words{"a=1,b=x,c=7", "a=1,b=x,c=8", "a=2,b=y,c=7", "a=2,b=y,c=8"}));
  EXPECT_EQ(GridOf({":::", "a", "1..2", ":::+", "b", "x"}),
            (Words{"linked parameters need equally many values: 'b' has 1, 'a' has 2"}));
}

TEST(Grid, RejectsInvalidWords) {
  const auto error_of = [](const Words& words) { return GridOf(words).at(0); };
  EXPECT_NE(error_of({":::"}).find("missing parameter"), std::string::npos);
  EXPECT_NE(error_of({":::", "a"}).find("has no values"), std::string::npos);
  EXPECT_NE(error_of({":::", "a", ":::", "b", "1"}).find("'a' has no values"), std::string::npos);
  EXPECT_NE(error_of({":::+", "a", "1"}).find("preceding parameter"), std::string::npos);
  EXPECT_EQ(error_of({":::", "1", "2", "3"}),
            "'1' after ::: is not a parameter name; write ::: NAME 1 ...");
  EXPECT_NE(error_of({":::", "slot", "2"}).find("is reserved"), std::string::npos);
  EXPECT_NE(error_of({"::::", "file"}).find("NAME @FILE"), std::string::npos);
  EXPECT_NE(error_of({":::", "a", "1", "::::", "file"}).find("NAME @FILE"), std::string::npos);
  EXPECT_NE(error_of({":::", "a", "1", ":::", "a", "2"}).find("duplicate parameter 'a'"),
            std::string::npos);
  EXPECT_NE(error_of({":::", "a", "1..2000", ":::", "b", "1..2000"}).find("more than 1000000"),
            std::string::npos);
  EXPECT_EQ(error_of({":::", "a", "@absent"}).find("a: cannot read /nowhere/absent"), 0u);
}

TEST(Grid, AMillionStepsTakeUnder80BytesEach) {
  const auto axes = ParseAxes(Words{":::", "seed", "1..1000000"}, "/");
  ASSERT_TRUE(axes);
  const auto table = Grid(*axes);
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows(), 1'000'000u);
  EXPECT_LT(table->MemoryBytes() / table->rows() + sizeof(Step), 80u);
  EXPECT_EQ(table->At(999'999, 0).value, "1000000");
}

TEST(Grid, HasEachValueOnce) {
  const auto axes = ParseAxes(Words{":::", "a", "1..1000", ":::", "b", "1..1000"}, "/");
  ASSERT_TRUE(axes);
  const auto table = Grid(*axes);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows(), 1'000'000u);
  EXPECT_LT(table->MemoryBytes(), 100'000u);
}

TEST(ParameterTable, CrossVariesTheRightTableFaster) {
  const auto axes = ParseAxes(Words{":::", "c", "5", "6", ":::", "d", "7", "8"}, "/");
  ASSERT_TRUE(axes);
  ParameterTable left(2);
  left.AddColumn("a", TextList(Words{"1", "2"}));
  left.AddColumn("b", TextList(Words{"3", ""}));
  EXPECT_EQ(Rows(Cross(left, *Grid(*axes))),
            (Words{"a=1,b=3,c=5,d=7", "a=1,b=3,c=5,d=8", "a=1,b=3,c=6,d=7", "a=1,b=3,c=6,d=8",
                   "a=2,b=,c=5,d=7", "a=2,b=,c=5,d=8", "a=2,b=,c=6,d=7", "a=2,b=,c=6,d=8"}));
  EXPECT_EQ(Rows(Cross(left, ParameterTable())), (Words{"a=1,b=3", "a=2,b="}));
  EXPECT_EQ(Rows(Cross(ParameterTable(), left)), (Words{"a=1,b=3", "a=2,b="}));
}

TEST(ParametersBuilder, StepsWithTheSameNamesShareATable) {
  ParametersBuilder builder;
  const std::vector<Parameter> rows[] = {
      {{"a", "1"}, {"b", "2"}}, {{"a", "3"}, {"b", ""}}, {}, {{"b", "4"}}, {{"b", "5"}}};
  std::vector<Parameters> all;
  for (const auto& row : rows) all.push_back(builder.Add(row));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], rows[i]);
  EXPECT_TRUE(all[0].HasSameNames(all[1]));
  EXPECT_TRUE(all[2].HasSameNames({}));
  EXPECT_FALSE(all[1].HasSameNames(all[3]));
  EXPECT_TRUE(all[3].HasSameNames({{"b", "x"}}));
}

TEST(ParseLines, OneRowPerNonEmptyLine) {
  EXPECT_EQ(Rows(ParseLines("a b\n\nc\r\nd", "list")), (Words{"line=a b", "line=c", "line=d"}));
  EXPECT_EQ(Rows(ParseLines("", "list")), Words{});
  EXPECT_EQ(Rows(ParseLines(std::string_view("a\n\0", 3), "list")),
            (Words{"list:2: a NUL byte cannot be part of a value"}));
}

}  // namespace parameters_test
}  // namespace reveza::jobs
