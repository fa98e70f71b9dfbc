// Something that a data set should have, looked at while its rows go by once. Not safe from several
// threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "datagen/batch.h"
#include "datagen/check/outcome.h"

namespace reveza::datagen::check {

class TableCheck {
 public:
  virtual ~TableCheck() = default;
  // Batches come in the order of the data set's files. Any column may have nulls.
  virtual void Look(const Batch& batch, const Position& position) = 0;
  // All tables of the block went by; of the coherent model's data sets only.
  virtual void EndBlock() {}
  virtual void Report(std::vector<Outcome>& outcomes) const = 0;
};

// A column of a batch, by its name.
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
  // The category's value.
  std::string_view Value(std::size_t row) const { return column().values[Code(row)]; }
  bool Is(std::size_t row, std::string_view value) const { return Has(row) && Value(row) == value; }

 private:
  const Batch* batch_;
  std::size_t index_;
  const ColumnValues* values_;
};

// The digits of an identifier as a number; text without digits gives 0.
uint64_t NumberOf(std::string_view identifier);

}  // namespace reveza::datagen::check
