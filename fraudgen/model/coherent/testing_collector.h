// Test support: collects all rows of a model.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fraudgen/model/model.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {

// All rows of a table, column by column.
struct Collected {
  const Table* table = nullptr;
  std::size_t rows = 0;
  struct Values {
    std::vector<uint8_t> present;  // for each row, in every column
    std::vector<int64_t> numbers;  // also codes and flags
    std::vector<std::string> texts;
    bool operator==(const Values&) const = default;
  };
  std::vector<Values> columns;

  const Values& operator[](std::string_view name) const {
    const auto found = std::ranges::find(table->columns, name, &Column::name);
    return columns.at(static_cast<std::size_t>(found - table->columns.begin()));
  }
  bool Has(std::string_view name, std::size_t row) const { return (*this)[name].present[row] != 0; }
  int64_t Number(std::string_view name, std::size_t row) const {
    return (*this)[name].numbers[row];
  }
  const std::string& Text(std::string_view name, std::size_t row) const {
    return (*this)[name].texts[row];
  }
  bool operator==(const Collected&) const = default;
};

// Returns a hash of all values, continuing `hash`.
inline uint64_t HashOf(const Collected& rows, uint64_t hash) {
  for (const Collected::Values& values : rows.columns) {
    hash = Mix(hash + values.present.size());
    for (const uint8_t present : values.present) hash = Mix(hash ^ present);
    for (const int64_t number : values.numbers) hash = Mix(hash ^ static_cast<uint64_t>(number));
    for (const std::string& text : values.texts) {
      for (const char letter : text) hash = Mix(hash ^ static_cast<unsigned char>(letter));
    }
  }
  return hash;
}

class Collector : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    Collected& all = tables_[batch.table().name];
    all.table = &batch.table();
    all.columns.resize(batch.table().columns.size());
    for (std::size_t i = 0; i < all.columns.size(); ++i) Add(batch, i, all.columns[i]);
    all.rows += batch.rows();
    return {};
  }

  const Collected& operator[](const Table& table) {
    Collected& all = tables_[table.name];
    all.table = &table;
    all.columns.resize(table.columns.size());
    return all;
  }

  bool operator==(const Collector& other) const { return tables_ == other.tables_; }

 private:
  static void Add(const Batch& batch, std::size_t column, Collected::Values& values) {
    const ColumnValues& from = batch.column(column);
    const ColumnType type = batch.table().columns[column].type;
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      values.present.push_back(batch.IsNull(column, row) ? 0 : 1);
      if (type == ColumnType::kText) {
        values.texts.emplace_back(from.TextAt(row));
      } else if (type == ColumnType::kCategory) {
        values.numbers.push_back(from.codes[row]);
      } else if (type == ColumnType::kBoolean) {
        values.numbers.push_back(from.flags[row]);
      } else {
        values.numbers.push_back(from.numbers[row]);
      }
    }
  }

  std::map<std::string_view, Collected> tables_;
};

}  // namespace reveza::fraudgen::coherent
