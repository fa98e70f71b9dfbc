// A batch of rows in columnar form, on the way from a model to a writer. Batches are reused to
// avoid allocation. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

// The values of one column. The column's type decides which vector is in use; it has an entry for
// every row, including nulls.
struct ColumnValues {
  // In `present`, for a kDecimal: text formats write the number as a string with a decimal comma;
  // other formats write the number.
  static constexpr uint8_t kAsText = 2;

  std::vector<uint8_t> present;  // 0 if the value is null; empty unless the column is nullable
  std::vector<int64_t> numbers;  // kInteger; kDecimal in units of 10^-places; kDate in days and
                                 // kTimestamp in microseconds as in civil_time.h
  std::vector<uint16_t> codes;   // kCategory: the index into Column::values
  std::vector<uint8_t> flags;    // kBoolean: 0 or 1
  std::vector<int32_t> ends;     // kText: end offset of each text in `bytes`
  std::string bytes;
  // kText: a number per row of which the text is a bijection, or empty. Columnar writers look it up
  // instead of the text. Values behind nulls are arbitrary.
  std::vector<uint64_t> keys;

  bool HasKeys() const { return !keys.empty() && keys.size() == ends.size(); }
  // Appends the next row's text; a null is an empty text with `present` 0.
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
  // Small enough for a batch to stay in the processor's cache.
  static constexpr std::size_t kMaxRows = 4096;

  explicit Batch(const Table& table);

  const Table& table() const { return *table_; }
  std::size_t rows() const { return rows_; }

  // Starts over with `rows` rows: numbers, codes and flags are sized but unspecified, texts are
  // empty and must be appended row by row, every value is present.
  void Begin(std::size_t rows);
  // Truncates to the first `rows` rows, when the number was not known at Begin().
  void Shorten(std::size_t rows) { rows_ = rows; }

  // `index` is a number or an enumerator of the table's columns.
  ColumnValues& column(auto index) { return columns_[static_cast<std::size_t>(index)]; }
  const ColumnValues& column(auto index) const { return columns_[static_cast<std::size_t>(index)]; }
  // Returns the index of the column named `name`, which must exist.
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

// Copies rows [first, first + count) of `from` to row `at` of `to`, which must have been begun with
// enough rows and hold the texts of exactly `at` rows. The tables must have the same columns; a
// column may be nullable in `to` only. Reentrant.
void AppendRows(const Batch& from, std::size_t first, std::size_t count, Batch& to, std::size_t at);

// Returns a value, which must not be null, as text formats write it. Thread-safe.
std::string ValueText(const Batch& batch, std::size_t column, std::size_t row);

}  // namespace reveza::fraudgen
