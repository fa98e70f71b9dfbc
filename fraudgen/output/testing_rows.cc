#include "fraudgen/output/testing_rows.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fraudgen/output/byte_stream.h"
#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kColour = {
    "red"sv, "green, dark"sv, "the \"blue\" one"sv,
    "a name that is longer than all the others, so that it is copied in "
    "several steps"sv};

constexpr Column Make(std::string_view name, ColumnType type, int places, std::string_view unit,
                      Nullable nullable, std::span<const std::string_view> values = {}) {
  return {name, type, places, unit, nullable, "English", "Portuguese", "made up", values};
}

constexpr Column Recurring(Column column) {
  column.recurs = true;
  return column;
}

constexpr auto kColumns = std::to_array<Column>({
    Make("id", ColumnType::kText, 0, "", Nullable::kNo),
    Make("colour", ColumnType::kCategory, 0, "", Nullable::kNo, kColour),
    Recurring(Make("place.street", ColumnType::kText, 0, "", Nullable::kYes)),
    Make("place.point.lat", ColumnType::kDecimal, 6, "degree", Nullable::kNo),
    Make("place.point.lon", ColumnType::kDecimal, 6, "degree", Nullable::kYes),
    Make("place.colour", ColumnType::kCategory, 0, "", Nullable::kYes, kColour),
    Make("amount", ColumnType::kDecimal, 2, "BRL", Nullable::kNo),
    Make("fee", ColumnType::kDecimal, 2, "BRL", Nullable::kYes),
    Recurring(Make("share", ColumnType::kDecimal, 9, "", Nullable::kYes)),
    Make("count", ColumnType::kInteger, 0, "", Nullable::kNo),
    Make("minutes", ColumnType::kInteger, 0, "min", Nullable::kYes),
    Make("is_new", ColumnType::kBoolean, 0, "", Nullable::kNo),
    Make("is_paid", ColumnType::kBoolean, 0, "", Nullable::kYes),
    Make("born", ColumnType::kDate, 0, "", Nullable::kNo),
    Make("died", ColumnType::kDate, 0, "", Nullable::kYes),
    Make("timestamp", ColumnType::kTimestamp, 0, "", Nullable::kNo),
    Make("seen.last", ColumnType::kTimestamp, 0, "", Nullable::kYes),
});

constexpr std::array kPlain = {"a"sv, "Z"sv, "0"sv, "7"sv, " "sv,
                               "ç"sv, "ã"sv, "é"sv, "-"sv, "."sv};
constexpr std::array kAwkward = {"\""sv, ","sv,    "\n"sv,   "\r"sv, "\t"sv, "\\"sv,
                                 "ç"sv,  "\x01"sv, "\x7f"sv, "日"sv, "a"sv,  ";"sv};

class Rows {
 public:
  Rows(uint32_t column, TestingTexts texts) : random_(42, 1, column), texts_(texts) {}

  uint64_t Bits(uint64_t row, uint32_t draw) const {
    return random_.Bits(texts_ == TestingTexts::kConstant ? 7 : row, static_cast<uint16_t>(draw));
  }
  uint64_t Below(uint64_t limit, uint64_t row, uint32_t draw) const {
    return UpperProduct(Bits(row, draw), limit);
  }
  bool Null(uint64_t row) const { return Below(10, row, 0) < 3; }

  void AppendText(ColumnValues& values, uint64_t row) const {
    std::string text;
    if (texts_ == TestingTexts::kConstant) {
      text = "CUST_000000000042";
    } else if (texts_ == TestingTexts::kPlain) {
      const uint64_t letters = 1 + Below(50, row, 1);
      for (uint32_t i = 0; i < letters; ++i) text += kPlain[Below(kPlain.size(), row, 2 + i)];
    } else {
      const uint64_t letters = Below(50, row, 1);
      for (uint32_t i = 0; i < letters; ++i) text += kAwkward[Below(kAwkward.size(), row, 2 + i)];
    }
    values.AppendText(text);
  }

  int64_t Number(const Column& column, uint64_t row) const {
    // All lengths and both signs.
    const uint64_t lengths = 1 + Below(column.unit == "degree" ? 9 : 12, row, 2);
    uint64_t limit = 1;
    for (uint64_t i = 0; i < lengths; ++i) limit *= 10;
    const auto size = static_cast<int64_t>(Below(limit, row, 3));
    switch (column.type) {
      case ColumnType::kDate:
        return static_cast<int64_t>(Below(40'000, row, 3)) - 20'000;
      case ColumnType::kTimestamp:
        return static_cast<int64_t>(Below(60 * 365 * kMicrosecondsPerDay, row, 3)) -
               365 * kMicrosecondsPerDay;
      default:
        return Below(2, row, 4) == 0 ? size : -size;
    }
  }

 private:
  FieldRandom random_;
  TestingTexts texts_;
};

void FillColumn(const Column& column, const Rows& made, ColumnValues& values, uint64_t first,
                std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    const uint64_t row = first + i;
    const bool null = column.nullable == Nullable::kYes && made.Null(row);
    if (null) values.present[i] = 0;
    switch (column.type) {
      case ColumnType::kText:
        if (null) {
          values.AppendText("");
        } else {
          made.AppendText(values, row);
        }
        break;
      case ColumnType::kCategory:
        // The value behind a null is irrelevant.
        values.codes[i] =
            null ? 65'535 : static_cast<uint16_t>(made.Below(column.values.size(), row, 1));
        break;
      case ColumnType::kBoolean:
        values.flags[i] = static_cast<uint8_t>(made.Below(2, row, 1));
        break;
      default:
        values.numbers[i] = made.Number(column, row);
        break;
    }
  }
}

// Aborts if a writer fails.
void Require(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::abort();
}

}  // namespace

const Table kTestingTable = {"things", "Made up for tests.", "Para testes.", kColumns};

void FillTestingRows(Batch& batch, uint64_t first, std::size_t rows, TestingTexts texts) {
  batch.Begin(rows);
  for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
    FillColumn(batch.table().columns[i], Rows(static_cast<uint32_t>(i), texts), batch.column(i),
               first, rows);
  }
}

std::string WriteTestingRows(const TableOptions& options, const Table& table, uint64_t rows,
                             std::size_t batch_rows, TestingTexts texts) {
  MemorySink sink;
  auto writer = MakeTableWriter(options, table, sink);
  if (!writer) Require(std::unexpected(writer.error()));
  Batch batch(table);
  for (uint64_t first = 0; first < rows; first += batch_rows) {
    FillTestingRows(batch, first, std::min<uint64_t>(batch_rows, rows - first), texts);
    Require((*writer)->Write(batch));
  }
  Require((*writer)->Finish());
  Require(sink.Finish());
  return sink.bytes();
}

std::string DifferenceOf(std::string_view left, std::string_view right) {
  if (left == right) return {};
  constexpr std::size_t kShown = 60;
  const auto first = std::ranges::mismatch(left, right).in1 - left.begin();
  const std::size_t at = static_cast<std::size_t>(first);
  return "from byte " + std::to_string(at) + " on: '" + std::string(left.substr(at, kShown)) +
         "' and '" + std::string(right.substr(at, kShown)) + "'";
}

}  // namespace reveza::fraudgen
