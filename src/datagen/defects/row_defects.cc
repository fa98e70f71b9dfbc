#include "datagen/defects/row_defects.h"

#include <algorithm>

namespace reveza::datagen {

RowDefects::RowDefects(const Model& sound, const Table& table, const DefectOptions& options)
    : table_(table, options.rates, options.numbers_as_text) {
  const uint64_t key = DefectKey(options.seed, table.name);
  uint64_t row = 0;
  for (uint64_t block = 0; block < sound.blocks(); ++block) {
    const uint64_t rows = sound.RowsOf(table, block);
    first_rows_.push_back(row);
    plans_.emplace_back(key, options.rates, row, rows);
    duplicates_ += plans_.back().Count(DefectKind::kDuplicate);
    row += rows;
  }
}

std::optional<Defect> RowDefects::At(uint64_t row) const {
  // The last block that begins there or before; of those without rows none does so alone.
  const auto after = std::ranges::upper_bound(first_rows_, row);
  const auto block = static_cast<std::size_t>(after - first_rows_.begin()) - 1;
  return plans_[block].At(row - first_rows_[block]);
}

}  // namespace reveza::datagen
