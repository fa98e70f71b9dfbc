#include "fraudgen/check/text_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "common/base/parse_number.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::check {
namespace {

// Far above the size of any valid record.
constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;

constexpr std::string_view kZone = "-03:00";  // in JSON of fraudgen 0.1
constexpr std::size_t kDayBytes = 10;
constexpr std::size_t kTimeBytes = 26;

// Parses decimal digits; nullopt for other characters.
std::optional<int64_t> Digits(std::string_view text) {
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<int64_t> ParseDecimal(std::string_view text, int places) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  constexpr std::size_t kMaxDigits = 18;
  if (whole.empty() || whole.size() + static_cast<std::size_t>(places) > kMaxDigits ||
      rest.size() > static_cast<std::size_t>(places) ||
      (point != std::string_view::npos && rest.empty())) {
    return std::nullopt;
  }
  auto value = Digits(whole);
  const auto fraction = Digits(rest);
  if (!value || !fraction) return std::nullopt;
  for (int i = 0; i < places; ++i) *value *= 10;
  int64_t part = *fraction;
  for (std::size_t i = rest.size(); i < static_cast<std::size_t>(places); ++i) part *= 10;
  *value += part;
  return negative ? -*value : *value;
}

std::optional<int64_t> ParseDay(std::string_view text) {
  if (text.size() != kDayBytes) return std::nullopt;
  const auto date = ParseDate(text);
  if (!date) return std::nullopt;
  return DaysOf(*date);
}

std::optional<int64_t> ParseTime(std::string_view text) {
  if (text.ends_with(kZone)) text.remove_suffix(kZone.size());
  if (text.size() != kTimeBytes || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text[19] != '.') {
    return std::nullopt;
  }
  const auto day = ParseDay(text.substr(0, kDayBytes));
  const auto hour = Digits(text.substr(11, 2));
  const auto minute = Digits(text.substr(14, 2));
  const auto second = Digits(text.substr(17, 2));
  const auto rest = Digits(text.substr(20, 6));
  if (!day || !hour || !minute || !second || !rest) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return *day * kMicrosecondsPerDay +
         ((*hour * 60 + *minute) * 60 + *second) * kMicrosecondsPerSecond + *rest;
}

}  // namespace

CategoryCodes CodesOf(const Column& column) {
  CategoryCodes codes;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    codes.emplace(column.values[i], static_cast<uint16_t>(i));
  }
  return codes;
}

bool SetValue(const Column& column, const CategoryCodes& codes, std::string_view text,
              std::size_t row, ColumnValues& values) {
  std::optional<int64_t> number;
  switch (column.type) {
    case ColumnType::kText:
      values.AppendText(text);
      return true;
    case ColumnType::kCategory: {
      const auto found = codes.find(text);
      if (found == codes.end()) return false;
      values.codes[row] = found->second;
      return true;
    }
    case ColumnType::kBoolean: {
      const bool yes = text == "true" || text == "True";
      values.flags[row] = yes ? 1 : 0;
      return yes || text == "false" || text == "False";
    }
    case ColumnType::kInteger:
      number = ParseNumber<int64_t>(text);
      break;
    case ColumnType::kDecimal:
      number = ParseDecimal(text, column.decimal_places);
      break;
    case ColumnType::kDate:
      number = ParseDay(text);
      break;
    case ColumnType::kTimestamp:
      number = ParseTime(text);
      break;
  }
  if (number) values.numbers[row] = *number;
  return number.has_value();
}

RowBuilder::RowBuilder(const Table& table, bool quotes, std::string file, ReadFaults& faults)
    : table_(table), quotes_(quotes), file_(std::move(file)), faults_(faults) {
  for (const Column& column : table.columns) codes_.push_back(CodesOf(column));
}

void RowBuilder::Begin(Batch& batch) {
  batch_ = &batch;
  rows_before_ += rows_;
  rows_ = 0;
  batch.Begin(Batch::kMaxRows);
  for (std::size_t i = 0; i < table_.columns.size(); ++i) {
    batch.column(i).present.assign(Batch::kMaxRows, 1);
  }
}

void RowBuilder::End() {
  batch_->Shorten(rows_);
  faults_.AddChecked(table_, rows_);
}

void RowBuilder::Add(std::span<const Cell> cells) {
  const auto is_quoted = [](ColumnType type) {
    return type == ColumnType::kText || type == ColumnType::kCategory ||
           type == ColumnType::kDate || type == ColumnType::kTimestamp;
  };
  const Position position{.file = file_, .first_row = rows_before_};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Column& column = table_.columns[i];
    const Cell& cell = cells[i];
    ColumnValues& values = batch_->column(i);
    const auto name = [&] { return fmt::format("{} is '{}'", column.name, cell.text); };
    bool put = false;
    if (cell.kind == Cell::Kind::kMissing) {
      faults_.columns.AddFailure(position, rows_,
                                 [&] { return fmt::format("{} is missing", column.name); });
    } else if (cell.kind == Cell::Kind::kNull) {
      if (column.nullable == Nullable::kNo) {
        faults_.nulls.AddFailure(position, rows_,
                                 [&] { return fmt::format("{} is null", column.name); });
      }
    } else if (quotes_ && (cell.kind == Cell::Kind::kText) != is_quoted(column.type)) {
      faults_.values.AddFailure(position, rows_, name);
    } else if (put = SetValue(column, codes_[i], cell.text, rows_, values); !put) {
      faults_.InvalidIn(column).AddFailure(position, rows_, name);
    }
    if (!put) {
      values.present[rows_] = 0;
      if (column.type == ColumnType::kText) values.AppendText({});
    }
  }
  ++rows_;
}

Status RecordReader::Fill() {
  text_.erase(0, begin_);
  begin_ = 0;
  if (text_.size() > kMaxRecordBytes) {
    return Fail(Error::Code::kInvalidArgument, "record too long");
  }
  const std::size_t before = text_.size();
  const std::size_t step = bytes_->step();
  text_.resize(before + step);
  ASSIGN_OR_RETURN(const auto got, bytes_->ReadAt(position_, std::span(text_).subspan(before)));
  text_.resize(before + got);
  position_ += got;
  last_ = got < step;
  return {};
}

Status RecordReader::Skip(std::string_view bytes) {
  while (true) {
    begin_ = std::min(text_.find_first_not_of(bytes, begin_), text_.size());
    if (begin_ < text_.size() || last_) return {};
    RETURN_IF_ERROR(Fill());
  }
}

Result<std::string_view> RecordReader::Next(FindEnd find_end) {
  while (true) {
    const std::string_view text = std::string_view(text_).substr(begin_);
    const std::size_t end = text.empty() ? std::string_view::npos : find_end(text, last_);
    if (end != std::string_view::npos) {
      begin_ += end;
      return text.substr(0, end);
    }
    if (last_) {
      if (text.empty()) return text;
      return Fail(Error::Code::kInvalidArgument, "truncated record at the end");
    }
    RETURN_IF_ERROR(Fill());
  }
}

TextRows::TextRows(std::unique_ptr<ByteSource> bytes, bool quotes, const Table& table,
                   const std::string& file, ReadFaults& faults)
    : reader_(std::move(bytes)),
      table_(table),
      file_(file),
      faults_(faults),
      builder_(table, quotes, file, faults) {}

Result<bool> TextRows::Next(Batch& batch) {
  builder_.Begin(batch);
  while (!builder_.full()) {
    ASSIGN_OR_RETURN(const auto cells, NextCells());
    if (cells.empty()) break;
    builder_.Add(cells);
  }
  builder_.End();
  return builder_.rows() > 0;
}

Result<std::string_view> TextRows::NextRecord(RecordReader::FindEnd find_end) {
  auto record = reader_.Next(find_end);
  if (!record) return Malformed(record.error().message);
  if (!record->empty()) ++records_;
  return record;
}

std::unexpected<Error> TextRows::Malformed(std::string_view what) const {
  return Fail(Error::Code::kInvalidArgument, "{}: {}", file_, what);
}

}  // namespace reveza::fraudgen::check
