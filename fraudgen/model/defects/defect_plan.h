// Selects the defective rows of a block and their defects, as a function of the key and the row.
// Immutable and thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fraudgen/model/blocks.h"
#include "fraudgen/schema/schema_derived.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen {

// Rates of injected defects.
struct DefectRates {
  // All kinds together must fit into the rows.
  static constexpr Share kMaxShare{.billionths = Share::kWhole / 5};
  static constexpr Share kDefaultShare{.billionths = Share::kWhole / 100};

  std::array<Share, kDefectKindNames.size()> of{};  // of the rows, by kind

  Share& Of(DefectKind kind) { return of[static_cast<std::size_t>(kind)]; }
  Share Of(DefectKind kind) const { return of[static_cast<std::size_t>(kind)]; }
  bool Any() const {
    return std::ranges::any_of(of, [](Share share) { return share.billionths > 0; });
  }
};

struct DefectOptions {
  uint64_t seed = 0;
  DefectRates rates;
  bool numbers_as_text = false;  // the output format can hold a string in place of a number
};

struct Defect {
  DefectKind kind = DefectKind::kLate;
  uint32_t rows_later = 0;  // late, outoforder, duplicate: number of later rows written first
  uint64_t bits = 0;        // null, schema: selects the column
};

// Returns the key of one of kBreakableTables, distinct for each table and seed.
uint64_t DefectKey(uint64_t seed, std::string_view table);

class DefectPlan {
 public:
  // For a block with `rows` rows; `first_row` is the number of its first row in the table.
  DefectPlan(uint64_t key, const DefectRates& rates, uint64_t first_row, uint64_t rows);

  // Returns the maximum number of rows written between a row's place in order and the row itself.
  static uint64_t MaxLateRows(const DefectRates& rates);

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

}  // namespace reveza::fraudgen
