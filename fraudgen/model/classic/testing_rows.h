// Test support: collects a model's rows in memory and compares counts with weights.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen::classic {

// One table in columnar form; nulls are stored as an empty text or 0.
class Rows {
 public:
  struct ColumnRows {
    std::vector<bool> null;
    std::vector<int64_t> numbers;  // also codes and flags
    std::vector<std::string> texts;
  };

  explicit Rows(const Table& table) : table_(&table), columns_(table.columns.size()) {}

  void Add(const Batch& batch) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const ColumnValues& from = batch.column(c);
      for (std::size_t row = 0; row < batch.rows(); ++row) {
        const bool null = batch.IsNull(c, row);
        columns_[c].null.push_back(null);
        switch (table_->columns[c].type) {
          case ColumnType::kText:
            columns_[c].texts.emplace_back(from.TextAt(row));
            break;
          case ColumnType::kCategory:
            columns_[c].numbers.push_back(null ? 0 : from.codes[row]);
            break;
          case ColumnType::kBoolean:
            columns_[c].numbers.push_back(null ? 0 : from.flags[row]);
            break;
          default:
            columns_[c].numbers.push_back(null ? 0 : from.numbers[row]);
        }
      }
    }
  }

  std::size_t size() const { return columns_.front().null.size(); }
  template <typename ColumnIndex>
  const ColumnRows& operator[](ColumnIndex column) const {
    return columns_[static_cast<std::size_t>(column)];
  }

  // Returns a row as text: the values separated by '|', nothing for a null.
  std::string Line(std::size_t row) const {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = table_->columns[c];
      if (c > 0) line += '|';
      if (columns_[c].null[row]) continue;
      if (column.type == ColumnType::kText) {
        line += columns_[c].texts[row];
        continue;
      }
      const int64_t number = columns_[c].numbers[row];
      switch (column.type) {
        case ColumnType::kCategory:
          line += column.values[static_cast<std::size_t>(number)];
          break;
        case ColumnType::kDecimal:
          AppendDecimal(line, number, column.decimal_places);
          break;
        case ColumnType::kDate:
          line += FormatDate(DateOf(number));
          break;
        case ColumnType::kTimestamp:
          line += FormatTime(number);
          break;
        default:
          AppendInteger(line, number);
      }
    }
    return line;
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (std::size_t row = 0; row < size(); ++row) lines.push_back(Line(row));
    return lines;
  }

 private:
  const Table* table_;
  std::vector<ColumnRows> columns_;
};

class Collector : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    EXPECT_GT(batch.rows(), 0u);
    EXPECT_LE(batch.rows(), Batch::kMaxRows);
    const Table& table = batch.table();
    auto found = tables_.try_emplace(&table, table).first;
    found->second.Add(batch);
    return {};
  }
  // Empty if no batch of the table was received.
  const Rows& Of(const Table& table) { return tables_.try_emplace(&table, table).first->second; }

 private:
  std::map<const Table*, Rows> tables_;
};

inline Options TestOptions() {
  Options options;
  options.kind = Kind::kAll;
  options.seed = 42;
  options.transactions = 60'000;
  options.rides = 20'000;
  options.start = {2025, 1, 1};
  options.end = {2025, 12, 31};
  options.as_of = {2026, 1, 1};
  options.rows_per_block = 25'000;
  return options;
}

inline std::unique_ptr<ClassicModel> ModelOf(const Options& options) {
  return ClassicModel::Make(options);
}

inline Collector MakeAll(const ClassicModel& model) {
  Collector collector;
  for (uint64_t block = 0; block < model.blocks(); ++block) {
    EXPECT_TRUE(model.Make(block, model.tables(), collector));
  }
  return collector;
}

// Generated once, for read-only tests.
inline Collector& TestRows() {
  static Collector rows = MakeAll(*ModelOf(TestOptions()));
  return rows;
}

// Returns how often each number below `limit` occurs, nulls excluded.
inline std::vector<uint64_t> CountsOf(const Rows::ColumnRows& column, std::size_t limit) {
  std::vector<uint64_t> counts(limit, 0);
  for (std::size_t row = 0; row < column.numbers.size(); ++row) {
    if (!column.null[row]) ++counts.at(static_cast<std::size_t>(column.numbers[row]));
  }
  return counts;
}

// Expects counts to follow the weights: chi-square within five standard deviations of its mean, and
// no occurrence where the weight is 0.
template <typename Weights>
void ExpectFits(const std::vector<uint64_t>& counts, const Weights& weights) {
  ASSERT_EQ(counts.size(), std::size(weights));
  double all = 0;
  double weight_sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += static_cast<double>(counts[i]);
    weight_sum += static_cast<double>(weights[i]);
  }
  ASSERT_GT(all, 0);
  double chi_square = 0;
  double freedom = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = all * static_cast<double>(weights[i]) / weight_sum;
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0u) << "category " << i << " has no weight";
      continue;
    }
    ++freedom;
    const double off = static_cast<double>(counts[i]) - expected;
    chi_square += off * off / expected;
  }
  EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom) + 5);
}

inline void ExpectUniform(const std::vector<uint64_t>& counts) {
  ExpectFits(counts, std::vector<uint32_t>(counts.size(), 1));
}

// Expects `count` of `all` to be `percent`, within five standard deviations.
inline void ExpectShare(std::size_t count, std::size_t all, double percent) {
  ASSERT_GT(all, 0u);
  const double share = percent / 100;
  const double deviation = std::sqrt(static_cast<double>(all) * share * (1 - share));
  EXPECT_NEAR(static_cast<double>(count), static_cast<double>(all) * share, 5 * deviation);
}

// Minimum, maximum and mean of the values added.
struct Range {
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;
  double mean = 0;
  std::size_t count = 0;

  void Add(int64_t value) {
    min = std::min(min, value);
    max = std::max(max, value);
    mean += (static_cast<double>(value) - mean) / static_cast<double>(++count);
  }
};
// Expects a uniform distribution on [min, max]: both ends within 2 % of the width, and the mean.
inline void ExpectUniform(const Range& range, int64_t min, int64_t max) {
  const double width = static_cast<double>(max - min);
  EXPECT_GE(range.min, min);
  EXPECT_LE(range.max, max);
  EXPECT_NEAR(static_cast<double>(range.min), static_cast<double>(min), 0.02 * width);
  EXPECT_NEAR(static_cast<double>(range.max), static_cast<double>(max), 0.02 * width);
  EXPECT_NEAR(range.mean, static_cast<double>(min) + width / 2,
              5 * width / std::sqrt(12.0 * static_cast<double>(range.count)));
}

}  // namespace reveza::fraudgen::classic
