// A table whose rows may be broken: the same columns, but what may be damaged may be null, and a
// category has a value more that it should not have. Immutable, so safe from any thread; batches
// and files refer to it, so it stays where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "datagen/batch.h"
#include "datagen/defects/defect_rates.h"
#include "datagen/schema.h"

namespace reveza::datagen {

// What stands in a category that has a value which nobody knows.
inline constexpr std::string_view kUnknownValue = "N/A";

class BrokenTable {
 public:
  // `numbers_as_text`: the format can hold a text where a number should be.
  BrokenTable(const Table& sound, const DefectRates& rates, bool numbers_as_text);
  BrokenTable(const BrokenTable&) = delete;
  BrokenTable& operator=(const BrokenTable&) = delete;

  const Table& sound() const { return *sound_; }
  const Table& table() const { return table_; }

  // The column that a defect of this kind, null or schema, damages, by its random bits.
  std::size_t ColumnOf(DefectKind kind, uint64_t bits) const;
  // Does so to the value in `row`, the last one that the batch (of table()) has texts of.
  static void Damage(Batch& batch, std::size_t column, std::size_t row, DefectKind kind);

 private:
  const Table* sound_;
  std::vector<Column> columns_;
  std::deque<std::vector<std::string_view>> values_;  // of the categories that have one more
  std::vector<std::size_t> may_be_null_;
  std::vector<std::size_t> may_be_wrong_;
  Table table_;
};

}  // namespace reveza::datagen
