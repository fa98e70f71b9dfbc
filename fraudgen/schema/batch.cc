#include "fraudgen/schema/batch.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <vector>

#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen {

Batch::Batch(const Table& table) : table_(&table), columns_(table.columns.size()) {}

void Batch::Begin(std::size_t rows) {
  rows_ = rows;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = table_->columns[i];
    ColumnValues& values = columns_[i];
    if (column.nullable == Nullable::kYes) values.present.assign(rows, 1);
    switch (column.type) {
      case ColumnType::kText:
        values.ends.clear();
        values.bytes.clear();
        values.keys.clear();
        break;
      case ColumnType::kCategory:
        values.codes.resize(rows);
        break;
      case ColumnType::kBoolean:
        values.flags.resize(rows);
        break;
      default:
        values.numbers.resize(rows);
    }
  }
}

std::size_t Batch::IndexOf(std::string_view name) const {
  const auto found = std::ranges::find(table_->columns, name, &Column::name);
  assert(found != table_->columns.end());
  return static_cast<std::size_t>(found - table_->columns.begin());
}

namespace {

template <typename T>
void CopyPart(const std::vector<T>& from, std::size_t first, std::size_t count, std::vector<T>& to,
              std::size_t at) {
  // Only one vector of a column is in use.
  if (from.empty() || to.empty()) return;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first), count,
              to.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

void AppendRows(const Batch& from, std::size_t first, std::size_t count, Batch& to,
                std::size_t at) {
  assert(first + count <= from.rows() && at + count <= to.rows());
  if (count == 0) return;
  for (std::size_t i = 0; i < from.table().columns.size(); ++i) {
    const ColumnValues& source = from.column(i);
    ColumnValues& copy = to.column(i);
    CopyPart(source.present, first, count, copy.present, at);
    CopyPart(source.numbers, first, count, copy.numbers, at);
    CopyPart(source.codes, first, count, copy.codes, at);
    CopyPart(source.flags, first, count, copy.flags, at);
    if (from.table().columns[i].type != ColumnType::kText) continue;
    assert(copy.ends.size() == at);
    if (source.HasKeys() && copy.keys.size() == at) {
      const auto keys = source.keys.begin() + static_cast<std::ptrdiff_t>(first);
      copy.keys.insert(copy.keys.end(), keys, keys + static_cast<std::ptrdiff_t>(count));
    }
    const int32_t begin = first == 0 ? 0 : source.ends[first - 1];
    const int32_t moved = static_cast<int32_t>(copy.bytes.size()) - begin;
    copy.bytes.append(source.bytes, static_cast<std::size_t>(begin),
                      static_cast<std::size_t>(source.ends[first + count - 1] - begin));
    for (std::size_t row = first; row < first + count; ++row) {
      copy.ends.push_back(source.ends[row] + moved);
    }
  }
}

std::string ValueText(const Batch& batch, std::size_t column, std::size_t row) {
  const Column& declared = batch.table().columns[column];
  const ColumnValues& values = batch.column(column);
  std::string text;
  switch (declared.type) {
    case ColumnType::kText:
      return std::string(values.TextAt(row));
    case ColumnType::kCategory:
      return std::string(declared.values[values.codes[row]]);
    case ColumnType::kBoolean:
      return values.flags[row] != 0 ? "true" : "false";
    case ColumnType::kDate:
      return FormatDate(DateOf(values.numbers[row]));
    case ColumnType::kTimestamp:
      return FormatTime(values.numbers[row]);
    case ColumnType::kInteger:
    case ColumnType::kDecimal:
      AppendDecimal(text, values.numbers[row], declared.decimal_places);
  }
  return text;
}

}  // namespace reveza::fraudgen
