// Rules between the values of one row.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "fraudgen/check/table_check.h"

namespace reveza::fraudgen::check {

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
