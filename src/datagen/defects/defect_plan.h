// Which rows of a block are broken, how, and by how much: a function of the key and the row, so
// that nothing depends on who makes it. Immutable, so safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "datagen/defects/defect_rates.h"
#include "datagen/permutation.h"
#include "datagen/random.h"

namespace reveza::datagen {

struct Defect {
  DefectKind kind = DefectKind::kLate;
  uint32_t rows_later = 0;  // late, outoforder, duplicate: behind so many rows that come after it
  uint64_t bits = 0;        // null, schema: for the choice of the column
};

// Of one of kBreakableTables: differs from table to table and from seed to seed.
uint64_t DefectKey(uint64_t seed, std::string_view table);

class DefectPlan {
 public:
  // Of a block's rows from `first_row` on, of all rows of the table.
  DefectPlan(uint64_t key, const DefectRates& rates, uint64_t first_row, uint64_t rows);

  // How many rows may be written, at most, between the place of a row and the row.
  static uint64_t MostLate(const DefectRates& rates);

  std::optional<Defect> At(uint64_t offset) const;
  uint64_t Count(DefectKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  uint64_t count() const { return all_; }

 private:
  FieldRandom random_;
  uint64_t first_row_;
  uint64_t rows_;
  std::array<uint64_t, kDefectKindNames.size()> counts_{};
  uint64_t all_ = 0;
  std::optional<Permutation> order_;
};

}  // namespace reveza::datagen
