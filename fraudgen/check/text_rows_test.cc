#include "fraudgen/check/text_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "common/platform/testing_directory.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/testing_columns.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::check {
namespace text_rows_test {

constexpr std::array<std::string_view, 2> kColours = {"RED", "BLUE"};
constexpr std::array<Column, 5> kColumns = {
    TextColumn("name", kMayBeNull, "", "", ""),
    CategoryColumn("inner.colour", kNeverNull, kColours, "", "", ""),
    MoneyColumn("inner.price", kNeverNull, "", "", ""),
    FlagColumn("good", kMayBeNull, "", "", ""),
    TimeColumn("at", kMayBeNull, "", "", ""),
};
constexpr Table kTable = {"things", "", "", kColumns};

struct Read {
  std::vector<std::string> rows;  // values with blanks between them
  std::string error;
  ReadFaults faults{kTable};
};

Read ReadText(const std::string& text, Format format) {
  const platform::TestingDirectory place;
  place.Write("things", text);
  Read read;
  auto source = OpenRows(*FileSource::Open(place / "things"), {.format = format}, kTable, "things",
                         read.faults);
  EXPECT_TRUE(source);
  Batch batch(kTable);
  while (true) {
    const auto more = (*source)->Next(batch);
    if (!more) read.error = more.error().message;
    if (!more || !*more) return read;
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      std::string& line = read.rows.emplace_back();
      for (std::size_t i = 0; i < kColumns.size(); ++i) {
        line += (i == 0 ? "" : " ") +
                (batch.IsNull(i, row) ? std::string("null") : ValueText(batch, i, row));
      }
    }
  }
}

TEST(TextRows, ReadsJsonInAnyLayout) {
  const std::string record =
      R"({"name":"a\"\\\n\u00e7 }{","inner":{"colour":"BLUE","price":-12.5},"good":true,)"
      R"("at":"2025-01-02T03:04:05.000006-03:00"})";
  const std::string expected = "a\"\\\nç }{ BLUE -12.50 true 2025-01-02T03:04:05.000006";
  const std::string nulls =
      R"({ "at" : null, "good":null, "inner" : { "price":0 , "colour":"RED" }, "name":null })";
  const std::vector<std::string> both = {expected, "null RED 0.00 null null"};
  for (const std::string& text :
       {record + "\n" + nulls + "\n", "[\n  " + record + ",\n" + nulls + "\n]\n"}) {
    const Read read = ReadText(text, Format::kJsonLines);
    EXPECT_EQ(read.rows, both);
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(
        read.faults.values.failed() + read.faults.nulls.failed() + read.faults.columns.failed(),
        0u);
  }
}

TEST(TextRows, ReadsColumnsInAnyOrder) {
  const Read read = ReadText(
      "at,inner_price,inner.colour,name,good\n"
      "2025-01-02T03:04:05.000006,7.00,RED,\"a, \"\"b\"\"\nc\",True\n"
      ",-0.05,BLUE,\"\",\r\n"
      ",1.00,BLUE,,false",
      Format::kCsv);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.rows,
            (std::vector<std::string>{"a, \"b\"\nc RED 7.00 true 2025-01-02T03:04:05.000006",
                                      " BLUE -0.05 null null", "null BLUE 1.00 false null"}));
}

TEST(TextRows, InvalidValuesBecomeNullsAndAreCounted) {
  const Read read = ReadText(
      "name\tinner_colour\tinner_price\tgood\tat\n"
      "a\tGREEN\t1.00\tmaybe\t2025-02-30T00:00:00.000000\n"
      "a\t\t1.005\ttrue\t\n",
      Format::kTsv);
  EXPECT_EQ(read.rows,
            (std::vector<std::string>{"a null 1.00 null null", "a null null true null"}));
  EXPECT_EQ(read.faults.categories.failed(), 1u);
  EXPECT_EQ(read.faults.values.failed(), 3u);
  EXPECT_EQ(read.faults.nulls.failed(), 1u);
  EXPECT_EQ(read.faults.categories.outcome().detail,
            "1 failed; first: things row 1: inner.colour is 'GREEN'");
}

TEST(TextRows, RejectsTruncatedFiles) {
  EXPECT_NE(ReadText("{\"name\":\"a\",\"inner\":{\"co", Format::kJsonLines).error, "");
  EXPECT_NE(ReadText("nonsense\n", Format::kJsonLines).error, "");
  EXPECT_NE(ReadText("{\"name\":1,\"name\":2}\n", Format::kJsonLines).error, "");
  EXPECT_NE(ReadText("name,good\na\n", Format::kCsv).error, "");
  EXPECT_NE(ReadText("name,good\n\"a", Format::kCsv).error, "");
  EXPECT_NE(ReadText("", Format::kCsv).error, "");
}

}  // namespace text_rows_test
}  // namespace reveza::fraudgen::check
