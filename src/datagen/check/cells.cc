#include "datagen/check/cells.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "datagen/civil_time.h"

namespace reveza::datagen::check {
namespace {

constexpr std::string_view kZone = "-03:00";
constexpr std::size_t kDayBytes = 10;
constexpr std::size_t kTimeBytes = 26;

// Two or more digits of a time, or nothing.
std::optional<int64_t> Digits(std::string_view text) {
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseDecimal(std::string_view text, int places) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  constexpr std::size_t kMostDigits = 18;
  if (whole.empty() || whole.size() + static_cast<std::size_t>(places) > kMostDigits ||
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

CategoryCodes CodesOf(const Column& column) {
  CategoryCodes codes;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    codes.emplace(column.values[i], static_cast<uint16_t>(i));
  }
  return codes;
}

ReadFaults::ReadFaults(const Table& table)
    : columns(fmt::format("{}: the columns are those of the schema", table.name)),
      nulls(fmt::format("{}: nulls only where the schema allows them", table.name)),
      categories(fmt::format("{}: categories are those of the schema", table.name)),
      values(fmt::format("{}: values are of their column's type", table.name)) {}

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
  const uint64_t values = rows_ * table_.columns.size();
  faults_.columns.Look(rows_);
  faults_.nulls.Look(values);
  faults_.categories.Look(rows_ * static_cast<uint64_t>(std::ranges::count(
                                      table_.columns, ColumnType::kCategory, &Column::type)));
  faults_.values.Look(values);
}

bool RowBuilder::IsQuoted(ColumnType type) const {
  return type == ColumnType::kText || type == ColumnType::kCategory || type == ColumnType::kDate ||
         type == ColumnType::kTimestamp;
}

void RowBuilder::Add(std::span<const Cell> cells) {
  const Position position{.file = file_, .first_row = rows_before_};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Column& column = table_.columns[i];
    const Cell& cell = cells[i];
    ColumnValues& values = batch_->column(i);
    const auto name = [&] { return fmt::format("{} is '{}'", column.name, cell.text); };
    bool put = false;
    if (cell.kind == Cell::Kind::kMissing) {
      faults_.columns.Bad(position, rows_, [&] { return fmt::format("no {}", column.name); });
    } else if (cell.kind == Cell::Kind::kNull) {
      if (column.nullable == Nullable::kNo) {
        faults_.nulls.Bad(position, rows_, [&] { return fmt::format("{} is null", column.name); });
      }
    } else if (quotes_ && (cell.kind == Cell::Kind::kText) != IsQuoted(column.type)) {
      faults_.values.Bad(position, rows_, name);
    } else if (put = Put(i, cell); !put) {
      (column.type == ColumnType::kCategory ? faults_.categories : faults_.values)
          .Bad(position, rows_, name);
    }
    if (!put) {
      values.present[rows_] = 0;
      if (column.type == ColumnType::kText) values.AppendText({});
    }
  }
  ++rows_;
}

bool RowBuilder::Put(std::size_t index, const Cell& cell) {
  const Column& column = table_.columns[index];
  ColumnValues& values = batch_->column(index);
  std::optional<int64_t> number;
  switch (column.type) {
    case ColumnType::kText:
      values.AppendText(cell.text);
      return true;
    case ColumnType::kCategory: {
      const auto found = codes_[index].find(cell.text);
      if (found == codes_[index].end()) return false;
      values.codes[rows_] = found->second;
      return true;
    }
    case ColumnType::kBoolean: {
      const bool yes = cell.text == "true" || cell.text == "True";
      values.flags[rows_] = yes ? 1 : 0;
      return yes || cell.text == "false" || cell.text == "False";
    }
    case ColumnType::kInteger:
      number = ParseInteger(cell.text);
      break;
    case ColumnType::kDecimal:
      number = ParseDecimal(cell.text, column.decimal_places);
      break;
    case ColumnType::kDate:
      number = ParseDay(cell.text);
      break;
    case ColumnType::kTimestamp:
      number = ParseTime(cell.text);
      break;
  }
  if (number) values.numbers[rows_] = *number;
  return number.has_value();
}

}  // namespace reveza::datagen::check
