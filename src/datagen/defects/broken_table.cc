#include "datagen/defects/broken_table.h"

#include <cassert>

#include "datagen/random.h"

namespace reveza::datagen {
namespace {

// The answer key finds rows by the first column, time orders them, and the labels are not of the
// source.
bool MayBeDamaged(const Table& table, const Column& column) {
  return column.nullable == Nullable::kNo && &column != table.columns.data() &&
         column.name != "timestamp" && column.name != "is_fraud" &&
         !column.name.starts_with("fraud_");
}

}  // namespace

BrokenTable::BrokenTable(const Table& sound, const DefectRates& rates, bool numbers_as_text)
    : sound_(&sound), columns_(sound.columns.begin(), sound.columns.end()), table_(sound) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& was = sound.columns[i];
    Column& column = columns_[i];
    if (!MayBeDamaged(sound, was)) continue;
    if (rates.Of(DefectKind::kNull).billionths > 0) {
      column.nullable = Nullable::kYes;
      may_be_null_.push_back(i);
    }
    if (rates.Of(DefectKind::kSchema).billionths == 0) continue;
    if (was.type == ColumnType::kCategory) {
      auto& values = values_.emplace_back(was.values.begin(), was.values.end());
      values.push_back(kUnknownValue);
      column.values = values;
      may_be_wrong_.push_back(i);
    } else if (was.type == ColumnType::kDecimal && numbers_as_text) {
      column.nullable = Nullable::kYes;
      may_be_wrong_.push_back(i);
    }
  }
  table_.columns = columns_;
}

std::size_t BrokenTable::ColumnOf(DefectKind kind, uint64_t bits) const {
  const auto& columns = kind == DefectKind::kNull ? may_be_null_ : may_be_wrong_;
  assert(!columns.empty());
  return columns[UpperProduct(bits, columns.size())];
}

void BrokenTable::Damage(Batch& batch, std::size_t column, std::size_t row, DefectKind kind) {
  ColumnValues& values = batch.column(column);
  const Column& what = batch.table().columns[column];
  if (kind == DefectKind::kSchema) {
    if (what.type == ColumnType::kCategory) {
      values.codes[row] = static_cast<uint16_t>(what.values.size() - 1);
    } else {
      values.present[row] = ColumnValues::kAsText;
    }
    return;
  }
  values.present[row] = 0;
  if (what.type != ColumnType::kText) return;
  assert(values.ends.size() == row + 1);
  values.ends[row] = row == 0 ? 0 : values.ends[row - 1];
  values.bytes.resize(static_cast<std::size_t>(values.ends[row]));
}

}  // namespace reveza::datagen
