// Fills one column after the other, in the order of the schema. Not safe from several threads.
#pragma once

#include <cassert>
#include <span>
#include <string_view>
#include <type_traits>

#include "datagen/batch.h"

namespace reveza::datagen::coherent {

template <typename Row>
class ColumnFiller {
 public:
  ColumnFiller(std::span<const Row> rows, Batch& batch) : rows_(rows), batch_(&batch) {
    batch.Begin(rows.size());
  }
  // Every column has to be filled.
  ~ColumnFiller() { assert(next_ == batch_->table().columns.size()); }
  ColumnFiller(const ColumnFiller&) = delete;
  ColumnFiller& operator=(const ColumnFiller&) = delete;

  // `append(bytes, row)` appends the value, nothing for a null.
  template <typename Append>
  void Text(std::string_view name, Append append) {
    ColumnValues& values = Next(name);
    for (const Row& row : rows_) {
      append(values.bytes, row);
      values.ends.push_back(static_cast<int32_t>(values.bytes.size()));
    }
  }
  template <typename Has, typename Append>
  void TextIf(std::string_view name, Has has, Append append) {
    ColumnValues& values = Next(name);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool present = has(rows_[i]);
      values.present[i] = present ? 1 : 0;
      if (present) append(values.bytes, rows_[i]);
      values.ends.push_back(static_cast<int32_t>(values.bytes.size()));
    }
  }
  template <typename Get>
  void Code(std::string_view name, Get get) {
    ColumnValues& values = Next(name);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      values.codes[i] = static_cast<uint16_t>(get(rows_[i]));
    }
  }
  template <typename Has, typename Get>
  void CodeIf(std::string_view name, Has has, Get get) {
    ColumnValues& values = Next(name);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool present = has(rows_[i]);
      values.present[i] = present ? 1 : 0;
      values.codes[i] = present ? static_cast<uint16_t>(get(rows_[i])) : uint16_t{0};
    }
  }
  template <typename Get>
  void Number(std::string_view name, Get get) {
    ColumnValues& values = Next(name);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      values.numbers[i] = static_cast<int64_t>(get(rows_[i]));
    }
  }
  template <typename Has, typename Get>
  void NumberIf(std::string_view name, Has has, Get get) {
    ColumnValues& values = Next(name);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool present = has(rows_[i]);
      values.present[i] = present ? 1 : 0;
      values.numbers[i] = present ? static_cast<int64_t>(get(rows_[i])) : 0;
    }
  }
  template <typename Get>
  void Flag(std::string_view name, Get get) {
    ColumnValues& values = Next(name);
    for (std::size_t i = 0; i < rows_.size(); ++i) values.flags[i] = get(rows_[i]) ? 1 : 0;
  }
  template <typename Has, typename Get>
  void FlagIf(std::string_view name, Has has, Get get) {
    ColumnValues& values = Next(name);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool present = has(rows_[i]);
      values.present[i] = present ? 1 : 0;
      values.flags[i] = present && get(rows_[i]) ? 1 : 0;
    }
  }

 private:
  // The name is said again so that code and schema are seen to agree.
  ColumnValues& Next([[maybe_unused]] std::string_view name) {
    assert(batch_->table().columns[next_].name == name);
    return batch_->column(next_++);
  }

  std::span<const Row> rows_;
  Batch* batch_;
  std::size_t next_ = 0;
};

}  // namespace reveza::datagen::coherent
