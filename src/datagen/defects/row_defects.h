// Which rows of a model's table are broken, and how, for who does not write them block by block:
// the same rows with the same damage as in files. Immutable, so safe from any thread; it stays
// where it is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datagen/defects/broken_table.h"
#include "datagen/defects/defect_plan.h"
#include "datagen/model.h"

namespace reveza::datagen {

class RowDefects {
 public:
  // `table` is one of the sound model's, and of kBreakableTables.
  RowDefects(const Model& sound, const Table& table, const DefectOptions& options);

  const BrokenTable& table() const { return table_; }
  // The number of a block's first row in the whole table, from 0.
  uint64_t FirstRow(uint64_t block) const { return first_rows_[block]; }
  // Rows that are there twice.
  uint64_t duplicates() const { return duplicates_; }

  // By the number of a row in the whole table.
  std::optional<Defect> At(uint64_t row) const;

 private:
  BrokenTable table_;
  std::vector<uint64_t> first_rows_;  // of each block
  std::vector<DefectPlan> plans_;
  uint64_t duplicates_ = 0;
};

}  // namespace reveza::datagen
