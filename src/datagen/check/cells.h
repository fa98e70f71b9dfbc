// From the texts of a row to the values of a batch. Not safe from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "datagen/batch.h"
#include "datagen/check/row_source.h"

namespace reveza::datagen::check {

struct Cell {
  enum class Kind { kMissing, kNull, kText, kBare };
  Kind kind = Kind::kMissing;
  std::string_view text;
};

// The values of text, where it is one; the places of a decimal may be fewer than its column's.
std::optional<int64_t> ParseInteger(std::string_view text);
std::optional<int64_t> ParseDecimal(std::string_view text, int places);
std::optional<int64_t> ParseDay(std::string_view text);
std::optional<int64_t> ParseTime(std::string_view text);

// The code of each value of a category.
using CategoryCodes = std::unordered_map<std::string_view, uint16_t>;
CategoryCodes CodesOf(const Column& column);

class RowBuilder {
 public:
  // `quotes`: text stands in quotes and nothing else does, as in JSON.
  RowBuilder(const Table& table, bool quotes, std::string file, ReadFaults& faults);

  void Begin(Batch& batch);
  bool full() const { return rows_ == Batch::kMaxRows; }
  std::size_t rows() const { return rows_; }
  // One cell for each column of the table.
  void Add(std::span<const Cell> cells);
  void End();

 private:
  bool Put(std::size_t index, const Cell& cell);
  bool IsQuoted(ColumnType type) const;

  const Table& table_;
  bool quotes_;
  std::string file_;
  ReadFaults& faults_;
  std::vector<CategoryCodes> codes_;
  Batch* batch_ = nullptr;
  std::size_t rows_ = 0;
  uint64_t rows_before_ = 0;  // in the file
};

}  // namespace reveza::datagen::check
