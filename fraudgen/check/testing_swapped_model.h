// Test support: a model with wrong values, each of which is right in another row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/model/model.h"

namespace reveza::fraudgen::check {

// Replaces, in the first batch of each table of block 0, one value of each column by that of
// another row.
class SwappedModel final : public Model {
 public:
  using Counts = std::map<std::string, uint64_t>;  // wrong values by table

  // `swaps` counts them and must outlive the model.
  SwappedModel(std::unique_ptr<Model> base, Counts& swaps)
      : base_(std::move(base)), swaps_(swaps) {}

  std::span<const Table* const> tables() const override { return base_->tables(); }
  uint64_t blocks() const override { return base_->blocks(); }
  uint64_t RowsOf(const Table& table, uint64_t block) const override {
    return base_->RowsOf(table, block);
  }
  bool IsSmall(const Table& table) const override { return base_->IsSmall(table); }
  bool IsInOrder() const override { return base_->IsInOrder(); }
  uint64_t MaxLateRows(const Table& table) const override { return base_->MaxLateRows(table); }

  Status Make(uint64_t block, std::span<const Table* const> wanted,
              BatchSink& sink) const override {
    std::map<std::string_view, bool> seen;
    FunctionSink swapping([&](const Batch& batch) -> Status {
      if (block != 0 || batch.rows() == 0 || std::exchange(seen[batch.table().name], true)) {
        return sink.Put(batch);
      }
      Batch swapped = batch;
      Swap(batch, swapped);
      return sink.Put(swapped);
    });
    return base_->Make(block, wanted, swapping);
  }

 private:
  void Swap(const Batch& from, Batch& to) const {
    for (std::size_t column = 0; column < from.table().columns.size(); ++column) {
      // Neighbours that are all wrong could also be rows that are missing.
      const std::size_t row = column * 5 % from.rows();
      for (std::size_t other = from.rows(); other-- > 0;) {
        if (TextOf(from, column, row) == TextOf(from, column, other)) continue;
        Replace(from, column, row, other, to);
        ++swaps_[std::string(from.table().name)];
        break;
      }
    }
  }

  static std::string TextOf(const Batch& batch, std::size_t column, std::size_t row) {
    return batch.IsNull(column, row) ? "" : "=" + ValueText(batch, column, row);
  }

  static void Replace(const Batch& from, std::size_t column, std::size_t row, std::size_t other,
                      Batch& to) {
    const ColumnValues& source = from.column(column);
    ColumnValues& values = to.column(column);
    const auto copy = [&](auto& target, const auto& all) {
      if (!all.empty()) target[row] = all[other];
    };
    copy(values.present, source.present);
    copy(values.numbers, source.numbers);
    copy(values.codes, source.codes);
    copy(values.flags, source.flags);
    values.keys.clear();
    if (from.table().columns[column].type != ColumnType::kText) return;
    values.bytes.clear();
    values.ends.clear();
    for (std::size_t i = 0; i < from.rows(); ++i) {
      values.AppendText(source.TextAt(i == row ? other : i));
    }
  }

  std::unique_ptr<Model> base_;
  Counts& swaps_;
};

}  // namespace reveza::fraudgen::check
