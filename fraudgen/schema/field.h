// Access to the columns of a batch by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen {

// A column of a batch by name.
class Field {
 public:
  Field(const Batch& batch, std::string_view name)
      : batch_(&batch), index_(batch.IndexOf(name)), values_(&batch.column(index_)) {}

  std::size_t index() const { return index_; }
  const Column& column() const { return batch_->table().columns[index_]; }
  bool Has(std::size_t row) const { return !batch_->IsNull(index_, row); }
  int64_t Number(std::size_t row) const { return values_->numbers[row]; }
  uint16_t Code(std::size_t row) const { return values_->codes[row]; }
  bool Flag(std::size_t row) const { return values_->flags[row] != 0; }
  std::string_view Text(std::size_t row) const { return values_->TextAt(row); }
  // Returns the value of a category.
  std::string_view Value(std::size_t row) const { return column().values[Code(row)]; }
  bool Is(std::size_t row, std::string_view value) const { return Has(row) && Value(row) == value; }

 private:
  const Batch* batch_;
  std::size_t index_;
  const ColumnValues* values_;
};

// Returns true if the row has a value in all of the columns.
template <typename... Columns>
bool AllHave(std::size_t row, const Columns&... columns) {
  return (columns.Has(row) && ...);
}

// Returns several columns by name.
template <typename... Names>
std::array<Field, sizeof...(Names)> NamedFields(const Batch& batch, const Names&... names) {
  return {Field(batch, names)...};
}

// Returns the digits of an identifier as a number; 0 without digits.
inline uint64_t NumberOf(std::string_view identifier) {
  uint64_t number = 0;
  for (const char c : identifier) {
    if (c >= '0' && c <= '9') number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

}  // namespace reveza::fraudgen
