// What must hold between the values of one row, whatever the other rows are.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "datagen/check/table_check.h"

namespace reveza::datagen::check {

struct RowRule {
  std::string_view table;
  std::string_view what;
  std::vector<std::string_view> columns;
  // Whether it holds; `fields` are those of the columns. Not asked where a column is null that the
  // schema says never is.
  bool (*holds)(std::span<const Field> fields, std::size_t row);
};

std::vector<RowRule> ClassicRules();
std::vector<RowRule> CoherentRules();
std::vector<RowRule> CoherentRideRules();

std::unique_ptr<TableCheck> CheckRules(std::vector<RowRule> rules);

}  // namespace reveza::datagen::check
