#include "runner/definition/parameters.h"

#include <gtest/gtest.h>

#include "platform/testing_directory.h"

namespace reveza::runner {
namespace {

using Words = std::vector<std::string>;

std::string Values(std::string_view word) {
  const auto values = ValuesOf(word, "/nowhere");
  if (!values) return "refused: " + values.error().message;
  std::string text;
  for (const std::string& value : *values) text += (text.empty() ? "" : " ") + value;
  return text;
}

// Each row as "a=1,b=2"; or what was refused.
Words Rows(const Result<ParameterRows>& rows) {
  if (!rows) return {rows.error().message};
  Words all;
  for (const auto& row : *rows) {
    std::string& text = all.emplace_back();
    for (const Parameter& parameter : row) {
      text += (text.empty() ? "" : ",") + parameter.name + "=" + parameter.value;
    }
  }
  return all;
}

Words GridOf(const Words& words) {
  const auto axes = ParseAxes(words, "/nowhere");
  if (!axes) return {axes.error().message};
  return Rows(Grid(*axes));
}

TEST(ValuesOf, AWordIsItself) {
  for (const std::string_view word : {"a", "1", "", "../x", "a..b", "1..", "..5", "1...5", "1..x",
                                      "1.2.3", "@", "-", "1e3..2e3", "1234567890123456..2"}) {
    EXPECT_EQ(Values(word), word);
  }
  EXPECT_EQ(Values("@@home"), "@home");
}

TEST(ValuesOf, ARangeIsItsNumbers) {
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

TEST(ValuesOf, ARangeMustArriveAndEnd) {
  EXPECT_NE(Values("1..5..0").find("must not be 0"), std::string::npos);
  EXPECT_NE(Values("1..5..-1").find("never arrives"), std::string::npos);
  EXPECT_EQ(Values("0..1000000"),
            "refused: '0..1000000' has 1000001 values; a job has at most 1000000 steps");
  EXPECT_NE(Values("0..999999999999999").find("at most"), std::string::npos);
  EXPECT_NE(Values("0..999999999999999..0.00000000000001").find("too large"), std::string::npos);
  EXPECT_NE(Values("-900000000000000..900000000000000..0.0001").find("too far"), std::string::npos);
}

TEST(ValuesOf, AFileIsItsLines) {
  platform::TestingDirectory folder;
  folder.Write("list", "one\n\ntwo words\r\n1..5");
  EXPECT_EQ(ValuesOf("@list", folder.path()), (Words{"one", "two words", "1..5"}));
  EXPECT_EQ(ValuesOf("@" + (folder / "list").string(), "/nowhere"),
            (Words{"one", "two words", "1..5"}));
  folder.Write("empty", "\n\n");
  EXPECT_FALSE(ValuesOf("@empty", folder.path()));
  const auto absent = ValuesOf("@absent", folder.path());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Error::Code::kNotFound);
  EXPECT_NE(absent.error().message.find("@@"), std::string::npos) << "how to write an @";
  EXPECT_FALSE(ValuesOf("@.", folder.path())) << "a folder";
  folder.Write("zero", std::string_view("a\nb\0c", 5));
  const auto zero = ValuesOf("@zero", folder.path());
  ASSERT_FALSE(zero);
  EXPECT_NE(zero.error().message.find("zero:2: a zero byte"), std::string::npos);
}

TEST(Grid, TheLastVariesFastest) {
  EXPECT_EQ(GridOf({}), Words{""}) << "no parameters: one step";
  EXPECT_EQ(GridOf({":::", "a", "1", "2"}), (Words{"a=1", "a=2"}));
  EXPECT_EQ(GridOf({":::", "a", "1..2", ":::", "b", "x", "y"}),
            (Words{"a=1,b=x", "a=1,b=y", "a=2,b=x", "a=2,b=y"}));
}

TEST(Grid, LinkedParametersGoTogether) {
  EXPECT_EQ(GridOf({":::", "a", "1..2", ":::+", "b", "x", "y", ":::", "c", "7", "8"}),
            (Words{"a=1,b=x,c=7", "a=1,b=x,c=8", "a=2,b=y,c=7", "a=2,b=y,c=8"}));
  EXPECT_EQ(GridOf({":::", "a", "1..2", ":::+", "b", "x"}),
            (Words{"'b' has 1 values and 'a', which it is linked with, has 2; give both as many"}));
}

TEST(Grid, SaysWhatIsWrongWithIt) {
  const auto refusal = [](const Words& words) { return GridOf(words).at(0); };
  EXPECT_NE(refusal({":::"}).find("without a parameter"), std::string::npos);
  EXPECT_NE(refusal({":::", "a"}).find("has no values"), std::string::npos);
  EXPECT_NE(refusal({":::", "a", ":::", "b", "1"}).find("'a' has no values"), std::string::npos);
  EXPECT_NE(refusal({":::+", "a", "1"}).find("there is none"), std::string::npos);
  EXPECT_EQ(refusal({":::", "1", "2", "3"}),
            "'1' behind ::: is no name of a parameter; write ::: NAME 1 ...");
  EXPECT_NE(refusal({":::", "slot", "2"}).find("is built in"), std::string::npos);
  EXPECT_NE(refusal({"::::", "file"}).find("NAME @FILE"), std::string::npos);
  EXPECT_NE(refusal({":::", "a", "1", "::::", "file"}).find("NAME @FILE"), std::string::npos);
  EXPECT_NE(refusal({":::", "a", "1", ":::", "a", "2"}).find("named twice"), std::string::npos);
  EXPECT_NE(refusal({":::", "a", "1..2000", ":::", "b", "1..2000"}).find("more than 1000000"),
            std::string::npos);
  EXPECT_EQ(refusal({":::", "a", "@absent"}).find("a: cannot read /nowhere/absent"), 0u);
}

TEST(Grid, AHundredThousandRowsAreSmall) {
  const auto axes = ParseAxes(Words{":::", "seed", "1..50000", ":::", "model", "a", "b"}, "/");
  ASSERT_TRUE(axes);
  const auto rows = Grid(*axes);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 100'000u);
  std::size_t bytes = 0;
  for (const auto& row : *rows) bytes += sizeof(Step) + row.capacity() * sizeof(Parameter);
  EXPECT_LT(bytes / rows->size(), 300u);
  EXPECT_EQ(rows->back()[0].value, "50000");
}

TEST(ParseLines, EachLineIsAStep) {
  EXPECT_EQ(Rows(ParseLines("a b\n\nc\r\nd", "list")), (Words{"line=a b", "line=c", "line=d"}));
  EXPECT_EQ(Rows(ParseLines("", "list")), Words{});
  EXPECT_EQ(Rows(ParseLines(std::string_view("a\n\0", 3), "list")),
            (Words{"list:2: a zero byte cannot be part of a command"}));
}

}  // namespace
}  // namespace reveza::runner
