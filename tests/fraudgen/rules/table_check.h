// A check that sees all rows of a model once, block by block, and the checks that there are. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/field.h"
#include "tests/fraudgen/rules/tally.h"

namespace reveza::fraudgen::rules {

class TableCheck {
 public:
  virtual ~TableCheck() = default;
  // Adds rows. Referenced tables come before referring ones.
  virtual void Add(const Batch& batch, const Position& position) = 0;
  // Called after all tables of a block.
  virtual void EndBlock() {}
  virtual void Report(Tallies& tallies) const = 0;
};

using Fields = std::span<const Field>;

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

// Taxpayer numbers are well-formed, and their check digits match.
std::unique_ptr<TableCheck> CheckCpfs();

// Frauds are spread evenly over blocks.
std::unique_ptr<TableCheck> CheckLabels();

// Identifiers are unique and well-formed, and references exist.
std::unique_ptr<TableCheck> CheckKeys(bool coherent);

// Rules between the values of one row.
std::unique_ptr<TableCheck> CheckClassicRules();
std::unique_ptr<TableCheck> CheckCoherentRules();

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

}  // namespace reveza::fraudgen::rules
