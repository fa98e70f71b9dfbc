// Rows on their way from a model to a writer, column by column, as a table of the schema has them.
// A batch is used again and again, so that its memory is taken once. Not safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datagen/schema.h"

namespace reveza::datagen {

// The values of one column. Which of the vectors is in use depends on the column's type; it has one
// entry for each row, also where the value is null.
struct ColumnValues {
  // In `present`, of a kDecimal: text formats write the number as a text with a comma. Other
  // formats cannot, and write the number.
  static constexpr uint8_t kAsText = 2;

  std::vector<uint8_t> present;  // 0 where the value is null; only in a column that may be
  std::vector<int64_t> numbers;  // kInteger; kDecimal in units of 10^-places; kDate in days and
                                 // kTimestamp in microseconds as in civil_time.h
  std::vector<uint16_t> codes;   // kCategory: the index into Column::values
  std::vector<uint8_t> flags;    // kBoolean: 0 or 1
  std::vector<int32_t> ends;     // kText: where each text ends in `bytes`; the first begins at 0
  std::string bytes;

  // The next row's text; a null is an empty text with `present` 0.
  void AppendText(std::string_view text) {
    bytes.append(text);
    ends.push_back(static_cast<int32_t>(bytes.size()));
  }
  std::string_view TextAt(std::size_t row) const {
    const std::size_t begin = row == 0 ? 0 : static_cast<std::size_t>(ends[row - 1]);
    return std::string_view(bytes).substr(begin, static_cast<std::size_t>(ends[row]) - begin);
  }
};

class Batch {
 public:
  // As many rows as a batch has at most: small enough to stay in a processor's cache.
  static constexpr std::size_t kMaxRows = 4096;

  explicit Batch(const Table& table);

  const Table& table() const { return *table_; }
  std::size_t rows() const { return rows_; }

  // Begins anew with `rows` rows: numbers, codes and flags have room for them and hold anything,
  // texts are empty and are to be appended row by row, every value is present.
  void Begin(std::size_t rows);
  // Leaves the first `rows` of those it has: for who did not know before how many come.
  void Shorten(std::size_t rows) { rows_ = rows; }

  ColumnValues& column(std::size_t index) { return columns_[index]; }
  const ColumnValues& column(std::size_t index) const { return columns_[index]; }
  // Where the column of this name is; it must be there.
  std::size_t IndexOf(std::string_view name) const;

  bool IsNull(std::size_t column, std::size_t row) const {
    const std::vector<uint8_t>& present = columns_[column].present;
    return !present.empty() && present[row] == 0;
  }

 private:
  const Table* table_;
  std::size_t rows_ = 0;
  std::vector<ColumnValues> columns_;
};

}  // namespace reveza::datagen
