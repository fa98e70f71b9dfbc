// A check that sees all rows of a data set once, access to the columns of a batch, and the checks
// that there are. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fraudgen/check/outcome.h"
#include "fraudgen/run/settings.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen::check {

class TableCheck {
 public:
  virtual ~TableCheck() = default;
  // Adds rows. Batches come in file order. Any column may have nulls.
  virtual void Add(const Batch& batch, const Position& position) = 0;
  // Called after all tables of a block; coherent model only.
  virtual void EndBlock() {}
  virtual void Report(std::vector<Outcome>& outcomes) const = 0;
};

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

using Fields = std::span<const Field>;

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

inline std::vector<Field> FieldsOf(const Batch& batch, std::span<const std::string_view> columns) {
  std::vector<Field> fields;
  for (const std::string_view column : columns) fields.emplace_back(batch, column);
  return fields;
}

// Returns true if the row has a value in all columns that are not nullable.
inline bool IsComplete(Fields fields, std::size_t row) {
  return std::ranges::all_of(fields, [&](const Field& field) {
    return field.column().nullable == Nullable::kYes || field.Has(row);
  });
}

// Returns the digits of an identifier as a number; 0 without digits.
inline uint64_t NumberOf(std::string_view identifier) {
  uint64_t number = 0;
  for (const char c : identifier) {
    if (c >= '0' && c <= '9') number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

// Taxpayer numbers are well-formed, and all check digits match or, with safe identities, none does.
std::unique_ptr<TableCheck> CheckCpfs();

// Frauds are spread evenly over blocks; and rows, frauds and days match the stored settings, if
// known.
std::unique_ptr<TableCheck> CheckLabels(std::optional<Settings> settings);

// Rules between the values of one row.
std::unique_ptr<TableCheck> CheckClassicRules();
std::unique_ptr<TableCheck> CheckCoherentRules();

// Distributions of values: chi-square for categories, Kolmogorov-Smirnov for numbers.
std::unique_ptr<TableCheck> CheckClassicShares();
std::unique_ptr<TableCheck> CheckCoherentShares(const coherent::Parameters& parameters);

// Consistency between the rows of the coherent model, block by block: payments, rides, and the
// tables that refer to them, which must come before transactions and rides. Keeps the customers of
// one block in memory, not their payments.
std::unique_ptr<TableCheck> CheckTimeline();

// Nodes are unique, edges connect nodes, and the edges of payments match the payments. Within a
// block, nodes must come before edges, and edges before payments.
std::unique_ptr<TableCheck> CheckGraph();

// Returns true if a rule holds for the values of its columns.
using Holds = std::function<bool(Fields fields, std::size_t row)>;

struct RowRule {
  std::string_view what;
  std::vector<std::string_view> columns;
  Holds holds;  // not called for rows with nulls in non-nullable columns
};

struct TableRules {
  std::string_view table;
  std::vector<RowRule> rules;
};

std::unique_ptr<TableCheck> CheckRules(std::vector<TableRules> rules);

}  // namespace reveza::fraudgen::check
