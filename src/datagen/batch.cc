#include "datagen/batch.h"

#include <algorithm>
#include <cassert>

namespace reveza::datagen {

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
        break;
      case ColumnType::kCategory:
        values.codes.resize(rows);
        break;
      case ColumnType::kBoolean:
        values.flags.resize(rows);
        break;
      case ColumnType::kInteger:
      case ColumnType::kDecimal:
      case ColumnType::kDate:
      case ColumnType::kTimestamp:
        values.numbers.resize(rows);
        break;
    }
  }
}

std::size_t Batch::IndexOf(std::string_view name) const {
  const auto found = std::ranges::find(table_->columns, name, &Column::name);
  assert(found != table_->columns.end());
  return static_cast<std::size_t>(found - table_->columns.begin());
}

}  // namespace reveza::datagen
