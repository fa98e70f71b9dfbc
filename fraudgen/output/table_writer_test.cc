#include "fraudgen/output/table_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/testing_rows.h"
#include "fraudgen/schema/testing_columns.h"
#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen {
namespace table_writer_test {

using nlohmann::ordered_json;

// Three rows: plain, all nulls, awkward text.
void FillThreeRows(Batch& batch) {
  batch.Begin(3);
  const auto column = [&](std::string_view name) -> ColumnValues& {
    return batch.column(batch.IndexOf(name));
  };
  for (const auto text : {"first", "", "\"quoted\", and\nbroken\t\\"}) {
    column("id").AppendText(text);
  }
  for (const auto text : {"Rua São João, 5", "", ""}) column("place.street").AppendText(text);
  column("colour").codes = {0, 1, 2};
  column("place.colour").codes = {3, 9, 2};
  column("place.point.lat").numbers = {-23'550'520, 0, 7};
  column("place.point.lon").numbers = {-46'633'300, 1, 120'000'000};
  column("amount").numbers = {1250, 0, -5};
  column("fee").numbers = {123'456'789'012, 1, 99};
  column("share").numbers = {500'000'000, 1, -1};
  column("count").numbers = {42, 0, -7};
  column("minutes").numbers = {1440, 1, 0};
  column("is_new").flags = {1, 0, 1};
  column("is_paid").flags = {0, 1, 1};
  column("born").numbers = {DaysOf({1987, 6, 5}), 0, DaysOf({2000, 2, 29})};
  column("died").numbers = {DaysOf({2024, 12, 31}), 0, -1};
  const int64_t noon = DaysOf({2026, 1, 31}) * kMicrosecondsPerDay + kMicrosecondsPerDay / 2;
  column("timestamp").numbers = {noon + 1, 0, noon};
  column("seen.last").numbers = {noon, 0, -1};
  for (std::size_t i = 0; i < kTestingTable.columns.size(); ++i) {
    if (kTestingTable.columns[i].nullable == Nullable::kYes) batch.column(i).present[1] = 0;
  }
}

std::string ThreeRows(const TableOptions& options) {
  Batch batch(kTestingTable);
  FillThreeRows(batch);
  MemorySink sink;
  auto writer = MakeTableWriter(options, kTestingTable, sink);
  EXPECT_TRUE(writer) << writer.error().message;
  EXPECT_TRUE((*writer)->Write(batch));
  EXPECT_TRUE((*writer)->Finish());
  return sink.bytes();
}

constexpr std::string_view kLongColour =
    "a name that is longer than all the others, so that it is copied in several steps";

// Replaces `#` by the longest colour.
std::string Golden(std::string_view text) {
  std::string golden(text);
  if (golden.starts_with('\n')) golden.erase(0, 1);
  for (auto at = golden.find('#'); at != std::string::npos; at = golden.find('#')) {
    golden.replace(at, 1, kLongColour);
  }
  return golden;
}

TEST(TextWriter, JsonLines) {
  EXPECT_EQ(ThreeRows({.format = Format::kJsonLines}), Golden(R"(
{"id":"first","colour":"red","place":{"street":"Rua São João, 5","point":{"lat":-23.550520,"lon":-46.633300},"colour":"#"},"amount":12.50,"fee":1234567890.12,"share":0.500000000,"count":42,"minutes":1440,"is_new":true,"is_paid":false,"born":"1987-06-05","died":"2024-12-31","timestamp":"2026-01-31T12:00:00.000001","seen":{"last":"2026-01-31T12:00:00.000000"}}
{"id":"","colour":"green, dark","place":{"street":null,"point":{"lat":0.000000,"lon":null},"colour":null},"amount":0.00,"fee":null,"share":null,"count":0,"minutes":null,"is_new":false,"is_paid":null,"born":"1970-01-01","died":null,"timestamp":"1970-01-01T00:00:00.000000","seen":{"last":null}}
{"id":"\"quoted\", and\nbroken\t\\","colour":"the \"blue\" one","place":{"street":"","point":{"lat":0.000007,"lon":120.000000},"colour":"the \"blue\" one"},"amount":-0.05,"fee":0.99,"share":-0.000000001,"count":-7,"minutes":0,"is_new":true,"is_paid":true,"born":"2000-02-29","died":"1969-12-31","timestamp":"2026-01-31T12:00:00.000000","seen":{"last":"1969-12-31T23:59:59.999999"}}
)"));
}

TEST(TextWriter, IndentsJsonArray) {
  const std::string text = ThreeRows({.format = Format::kJson});
  // Identical to nlohmann::json, except for numbers.
  const auto rows = ordered_json::parse(text);
  EXPECT_EQ(rows.size(), 3u);
  const auto without_zeros = [](std::string line) {
    return line.substr(0, line.find_first_of("0123456789"));
  };
  std::vector<std::string> ours, theirs;
  for (auto [source, lines] : {std::pair(text, &ours), std::pair(rows.dump(2) + "\n", &theirs)}) {
    for (std::size_t begin = 0; begin < source.size();) {
      const std::size_t end = source.find('\n', begin);
      lines->push_back(without_zeros(source.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  EXPECT_EQ(ours, theirs);
  EXPECT_TRUE(text.starts_with("[\n  {\n    \"id\": \"first\",\n    \"colour\": \"red\",\n"));
  EXPECT_NE(
      text.find("\n    \"place\": {\n      \"street\": \"Rua São João, 5\",\n      \"point\": "
                "{\n        \"lat\": -23.550520,\n"),
      std::string::npos);
  EXPECT_TRUE(text.ends_with("\n    }\n  }\n]\n"));
}

TEST(TextWriter, Csv) {
  EXPECT_EQ(
      ThreeRows({.format = Format::kCsv}),
      Golden(
          "id,colour,place_street,place_point_lat,place_point_lon,place_colour,amount,fee,share,"
          "count,minutes,is_new,is_paid,born,died,timestamp,seen_last\n"
          "first,red,\"Rua São João, 5\",-23.550520,-46.633300,\"#\",12.50,1234567890.12,"
          "0.500000000,42,1440,true,false,1987-06-05,2024-12-31,2026-01-31T12:00:00.000001,"
          "2026-01-31T12:00:00.000000\n"
          "\"\",\"green, dark\",,0.000000,,,0.00,,,0,,false,,1970-01-01,,"
          "1970-01-01T00:00:00.000000,\n"
          "\"\"\"quoted\"\", and\nbroken\t\\\",\"the \"\"blue\"\" one\",\"\",0.000007,120.000000,"
          "\"the \"\"blue\"\" one\",-0.05,0.99,-0.000000001,-7,0,true,true,2000-02-29,1969-12-31,"
          "2026-01-31T12:00:00.000000,1969-12-31T23:59:59.999999\n"));
}

TEST(TextWriter, TsvQuotesTabsNotCommas) {
  const std::string text = ThreeRows({.format = Format::kTsv});
  EXPECT_TRUE(text.starts_with("id\tcolour\tplace_street\t"));
  EXPECT_NE(text.find("\nfirst\tred\tRua São João, 5\t-23.550520\t"), std::string::npos);
  EXPECT_NE(text.find("\n\"\"\"quoted\"\", and\nbroken\t\\\"\t"), std::string::npos);
}

TEST(TextWriter, ClassicColumnsAreSortedWithDots) {
  const std::string text = ThreeRows({.format = Format::kCsv, .classic_columns = true});
  EXPECT_EQ(text.substr(0, text.find('\n')), CsvHeader(kTestingTable));
  EXPECT_TRUE(text.substr(text.find('\n') + 1)
                  .starts_with("12.50,1987-06-05,red,42,2024-12-31,1234567890.12,first,True,False,"
                               "1440,"))
      << text;
}

TEST(TextWriter, TimesAreLocalInEveryFormat) {
  for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv}) {
    const std::string text = ThreeRows({.format = format});
    const std::string quote = format == Format::kCsv || format == Format::kTsv ? "" : "\"";
    for (const std::string time : {"2026-01-31T12:00:00.000001", "2026-01-31T12:00:00.000000"}) {
      const std::size_t at = text.find(quote + time + quote);
      ASSERT_NE(at, std::string::npos) << NameOf(format) << text;
      const char next = text[at + time.size() + 2 * quote.size()];
      EXPECT_TRUE(next != '-' && next != 'Z' && next != '+') << "no zone";
    }
  }
}

// Written by `--defects schema`.
TEST(TextWriter, WritesNumbersAsText) {
  const auto written = [](Format format) {
    Batch batch(kTestingTable);
    FillThreeRows(batch);
    batch.column(batch.IndexOf("fee")).present[0] = ColumnValues::kAsText;
    MemorySink sink;
    auto writer = MakeTableWriter({.format = format}, kTestingTable, sink);
    EXPECT_TRUE(writer && (*writer)->Write(batch) && (*writer)->Finish());
    return sink.bytes();
  };
  EXPECT_TRUE(written(Format::kJsonLines).contains("\"fee\":\"1234567890,12\","));
  EXPECT_TRUE(written(Format::kCsv).contains(",\"1234567890,12\","));
  EXPECT_TRUE(written(Format::kTsv).contains("\t1234567890,12\t"));
}

TEST(TextWriter, NoRows) {
  const auto none = [](Format format) {
    return WriteTestingRows({.format = format}, kDevices, 0, 1, TestingTexts::kPlain);
  };
  EXPECT_EQ(none(Format::kJsonLines), "");
  EXPECT_EQ(none(Format::kJson), "[]\n");
  EXPECT_EQ(none(Format::kCsv).substr(0, 29), "device_id,customer_id,type,ma");
  EXPECT_TRUE(none(Format::kTsv).ends_with("is_rooted_jailbroken\n"));
}

TEST(TextWriter, BytesDoNotDependOnBatches) {
  for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv}) {
    for (const TestingTexts texts : {TestingTexts::kPlain, TestingTexts::kAwkward}) {
      const auto bytes = [&](std::size_t batch_rows) {
        return WriteTestingRows({.format = format}, kTestingTable, 5'000, batch_rows, texts);
      };
      const std::string whole = bytes(Batch::kMaxRows);
      EXPECT_EQ(DifferenceOf(whole, bytes(1)), "");
      EXPECT_EQ(DifferenceOf(whole, bytes(255)), "");
      EXPECT_EQ(DifferenceOf(whole, bytes(257)), "");
    }
  }
}

// Formats a value in the reference writer.
std::string Value(const Batch& batch, std::size_t index, std::size_t row, bool json) {
  const Column& column = batch.table().columns[index];
  const ColumnValues& values = batch.column(index);
  if (batch.IsNull(index, row)) return json ? "null" : "";
  std::string text;
  const auto put = [&](std::string_view value, bool quoted) {
    if (!json) {
      AppendCsvText(text, value, ',');
    } else if (quoted) {
      AppendJsonText(text, value);
    } else {
      text += value;
    }
  };
  switch (column.type) {
    case ColumnType::kText:
      put(values.TextAt(row), true);
      break;
    case ColumnType::kCategory:
      put(column.values[values.codes[row]], true);
      break;
    case ColumnType::kBoolean:
      put(values.flags[row] != 0 ? "true" : "false", false);
      break;
    case ColumnType::kInteger:
    case ColumnType::kDecimal:
      AppendDecimal(text, values.numbers[row], column.decimal_places);
      break;
    case ColumnType::kDate:
      put(FormatDate(DateOf(values.numbers[row])), true);
      break;
    case ColumnType::kTimestamp:
      put(FormatTime(values.numbers[row]), true);
      break;
  }
  return text;
}

// Compares all tables with an independent writer based on nlohmann::json (numbers as text, to
// compare their places too).
void CompareWithReferenceWriter(TestingTexts texts) {
  constexpr std::size_t kRows = 700;
  std::vector<const Table*> tables(AllTables().begin(), AllTables().end());
  tables.push_back(&kTestingTable);
  for (const Table* table : tables) {
    Batch batch(*table);
    FillTestingRows(batch, 0, kRows, texts);
    std::string lines;
    std::string csv = WriteTestingRows({.format = Format::kCsv}, *table, 0, 1, {});
    for (std::size_t row = 0; row < kRows; ++row) {
      ordered_json record;
      std::vector<std::string> raw;
      for (std::size_t i = 0; i < table->columns.size(); ++i) {
        std::string pointer = "/" + std::string(table->columns[i].name);
        std::ranges::replace(pointer, '.', '/');
        record[ordered_json::json_pointer(pointer)] = "@" + std::to_string(i) + "@";
        raw.push_back(Value(batch, i, row, true));
        csv += (i == 0 ? "" : ",") + Value(batch, i, row, false);
      }
      std::string line = record.dump();
      for (std::size_t i = 0; i < raw.size(); ++i) {
        const std::string mark = "\"@" + std::to_string(i) + "@\"";
        line.replace(line.find(mark), mark.size(), raw[i]);
      }
      lines += line + "\n";
      csv += "\n";
    }
    const auto written = [&](Format format) {
      return WriteTestingRows({.format = format}, *table, kRows, 100, texts);
    };
    EXPECT_EQ(DifferenceOf(written(Format::kJsonLines), lines), "");
    EXPECT_EQ(DifferenceOf(written(Format::kCsv), csv), "");
  }
}

TEST(TextWriter, MatchesReferenceWriter) { CompareWithReferenceWriter(TestingTexts::kAwkward); }

// Text without escapes is copied at once.
TEST(TextWriter, MatchesReferenceWriterOnPlainText) {
  CompareWithReferenceWriter(TestingTexts::kPlain);
}

TEST(TextWriter, JsonLinesAreValid) {
  const std::string text = WriteTestingRows({.format = Format::kJsonLines}, kTestingTable, 2'000,
                                            777, TestingTexts::kAwkward);
  std::size_t rows = 0;
  for (std::size_t begin = 0; begin < text.size(); ++rows) {
    const std::size_t end = text.find('\n', begin);
    const auto record = nlohmann::json::parse(text.substr(begin, end - begin), nullptr, false);
    ASSERT_FALSE(record.is_discarded()) << text.substr(begin, end - begin);
    ASSERT_TRUE(record["place"]["point"]["lat"].is_number());
    begin = end + 1;
  }
  EXPECT_EQ(rows, 2'000u);
}

TEST(TextWriter, JsonRejectsSeparatedMembers) {
  static constexpr auto kApart = std::to_array<Column>({
      {"a.x", ColumnType::kInteger, 0, "", Nullable::kNo, "", "", "", {}},
      {"b", ColumnType::kInteger, 0, "", Nullable::kNo, "", "", "", {}},
      {"a.y", ColumnType::kInteger, 0, "", Nullable::kNo, "", "", "", {}},
  });
  const Table table = {"apart", "", "", kApart};
  MemorySink sink;
  const auto json = MakeTableWriter({.format = Format::kJsonLines}, table, sink);
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code, Error::Code::kInvalidArgument);
  EXPECT_NE(json.error().message.find("'a'"), std::string::npos) << json.error().message;
  EXPECT_TRUE(MakeTableWriter({.format = Format::kCsv}, table, sink));
}

class FailingSink final : public ByteSink {
 public:
  explicit FailingSink(std::size_t room) : room_(room) {}
  Status Append(std::string_view bytes) override {
    if (bytes.size() > room_) return Fail(Error::Code::kExhausted, "full");
    room_ -= bytes.size();
    return {};
  }
  Status Finish() override { return {}; }

 private:
  std::size_t room_;
};

TEST(TextWriter, ReturnsErrorOfSink) {
  FailingSink sink(1'000'000);
  auto writer = MakeTableWriter({.format = Format::kJsonLines}, kTransactions, sink);
  ASSERT_TRUE(writer);
  Batch batch(kTransactions);
  FillTestingRows(batch, 0, Batch::kMaxRows, TestingTexts::kPlain);
  const auto written = (*writer)->Write(batch);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Error::Code::kExhausted);
  EXPECT_EQ(written.error().message, "full");
}

}  // namespace table_writer_test
}  // namespace reveza::fraudgen
