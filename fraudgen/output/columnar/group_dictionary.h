// A column of one row group as the dictionary of its distinct values, in order of their first rows,
// and an index per row. The dictionary encoder of Parquet would hash every value as a double or a
// text; here numbers are looked up where the model has them. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

class GroupDictionary {
 public:
  // `column`: of texts or decimals. It must outlive the dictionary. Row groups have at most
  // `max_rows` rows.
  GroupDictionary(const Column& column, int64_t max_rows);

  // Adds `count` rows from `first` on.
  void Append(const ColumnValues& values, std::size_t first, std::size_t count);

  static constexpr int32_t kNone = -1;
  // The distinct values: texts or decimals in units of 10^-places.
  std::size_t size() const { return static_cast<std::size_t>(size_); }
  std::string_view TextAt(int32_t index) const;
  std::span<const int64_t> numbers() const {
    return {reinterpret_cast<const int64_t*>(numbers_.data()), numbers_.size()};
  }
  // Of the rows; kNone for nulls.
  std::span<const int32_t> indices() const { return indices_; }

  void Clear();

 private:
  // An entry of an open hash table.
  struct Slot {
    uint32_t hash = 0;
    int32_t index = kNone;
  };

  // Returns the index of the value with this hash of which `equals(index)` is true, or adds one
  // by `add()`.
  template <typename Equals, typename Add>
  int32_t Find(uint64_t hash, const Equals& equals, const Add& add);
  int32_t IndexOfText(std::string_view text, uint64_t hash);
  void AppendNumbers(const ColumnValues& values, std::size_t first, std::size_t count);
  void AppendKeys(const ColumnValues& values, std::size_t first, std::size_t count);
  void AppendTexts(const ColumnValues& values, std::size_t first, std::size_t count);
  // Looks up texts from now on instead of their keys.
  void HashTexts();
  void Resize(std::size_t slots);

  const Column& column_;
  std::vector<Slot> slots_;
  std::size_t hashed_ = 0;         // used slots
  std::vector<int32_t> small_;     // of a decimal: the index of each small number, or kNone
  int32_t size_ = 0;               // distinct values
  std::vector<uint64_t> numbers_;  // of decimals, or the keys of texts
  bool by_text_ = false;
  std::vector<int32_t> offsets_;
  std::string bytes_;

  std::vector<int32_t> indices_;  // of the rows; kNone for nulls
};

}  // namespace reveza::fraudgen
