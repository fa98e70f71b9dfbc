#include "reveza/jobs/report/compare_tables.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace reveza::jobs {
namespace {

using nlohmann::json;
using Row = std::vector<json>;

constexpr std::string_view kFirstResult = "state";

// One of the two tables, with its rows by command and parameters of their steps; of equal ones by
// their order.
class Side {
 public:
  explicit Side(const StepTable& table) : table_(table) {
    const auto first = std::ranges::find(table.columns, kFirstResult);
    const auto results = static_cast<std::size_t>(first - table.columns.begin());
    parameters_ = std::span(table.columns).subspan(1, std::max<std::size_t>(results, 1) - 1);
    std::map<std::string, int> equal;
    for (const Row& row : table.rows) {
      const std::string key = DescribeStep(row);
      keys_.push_back(key + ' ' + std::to_string(equal[key]++));
      rows_.emplace(keys_.back(), &row);
    }
  }

  std::span<const std::string> parameters() const { return parameters_; }
  std::span<const std::string> results() const {
    return std::span(table_.columns).subspan(1 + parameters_.size());
  }

  // Returns what tells the step of a row from the others, the same for both jobs.
  const std::string& KeyOf(std::size_t row) const { return keys_[row]; }

  const Row* Find(const std::string& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : found->second;
  }

  // Returns a cell; null if there is no such row or column.
  json Cell(const Row* row, std::string_view column) const {
    const auto found = std::ranges::find(table_.columns, column);
    if (row == nullptr || found == table_.columns.end()) return {};
    return (*row)[static_cast<std::size_t>(found - table_.columns.begin())];
  }

  bool IsDone(const Row* row) const { return Cell(row, kFirstResult) == "done"; }

 private:
  // Returns command and parameters of a step, in the order of their names, as JSON; instead of no
  // parameters its number.
  std::string DescribeStep(const Row& row) const {
    json key = {{kCommandColumn, 1}};
    bool has_parameters = false;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      // Of another command.
      if (row[i + 1].is_null()) continue;
      key[parameters_[i]] = row[i + 1];
      has_parameters = has_parameters || parameters_[i] != kCommandColumn;
    }
    if (!has_parameters) key["step"] = row[0];
    return key.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  const StepTable& table_;
  std::span<const std::string> parameters_;
  std::vector<std::string> keys_;  // by row
  std::map<std::string, const Row*> rows_;
};

std::vector<std::string> Union(std::span<const std::string> first,
                               std::span<const std::string> second) {
  std::vector<std::string> all(first.begin(), first.end());
  std::ranges::copy_if(second, std::back_inserter(all), [&](const std::string& name) {
    return std::ranges::find(first, name) == first.end();
  });
  return all;
}

// Sums of a quantity over the steps that are done in both jobs.
struct Sums {
  double a = 0;
  double b = 0;
  std::uint64_t count = 0;
};

// Columns that are numbers but no quantities.
bool IsQuantity(std::string_view column) {
  return column != "attempts" && column != "began" && column != "code";
}

StepTable Summarize(const std::vector<std::string>& results,
                    const std::map<std::string, Sums>& sums) {
  StepTable table;
  table.columns = {"mean", "a", "b", "change_percent"};
  for (const std::string& column : results) {
    const auto found = sums.find(column);
    if (found == sums.end()) continue;
    const auto count = static_cast<double>(found->second.count);
    const double a = found->second.a / count;
    const double b = found->second.b / count;
    table.rows.push_back({column, a, b, a == 0 ? json() : json(100 * (b - a) / std::abs(a))});
  }
  return table;
}

}  // namespace

TableComparison CompareTables(const StepTable& a, const StepTable& b) {
  const Side side_a(a);
  const Side side_b(b);
  const auto parameters = Union(side_a.parameters(), side_b.parameters());
  const auto results = Union(side_a.results(), side_b.results());
  TableComparison compared;
  compared.steps.columns = parameters;
  if (parameters.empty()) compared.steps.columns.emplace_back("step");
  for (const std::string& column : results) {
    compared.steps.columns.push_back(column + "_a");
    compared.steps.columns.push_back(column + "_b");
  }
  std::map<std::string, Sums> sums;
  const auto add = [&](const Row& row, const Side& own, const Row* in_a, const Row* in_b) {
    Row joined;
    for (const std::string& name : parameters) joined.push_back(own.Cell(&row, name));
    if (parameters.empty()) joined.push_back(row[0]);
    const bool both = side_a.IsDone(in_a) && side_b.IsDone(in_b);
    compared.done_in_both += both ? 1 : 0;
    compared.done_only_in_a += side_a.IsDone(in_a) && !both ? 1 : 0;
    compared.done_only_in_b += side_b.IsDone(in_b) && !both ? 1 : 0;
    for (const std::string& column : results) {
      const json& cell_a = joined.emplace_back(side_a.Cell(in_a, column));
      const bool is_number = cell_a.is_number();
      const double value_a = is_number ? cell_a.get<double>() : 0;
      const json& cell_b = joined.emplace_back(side_b.Cell(in_b, column));
      if (!both || !is_number || !cell_b.is_number() || !IsQuantity(column)) continue;
      Sums& sum = sums[column];
      sum.a += value_a;
      sum.b += cell_b.get<double>();
      ++sum.count;
    }
    compared.steps.rows.push_back(std::move(joined));
  };
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    add(a.rows[i], side_a, &a.rows[i], side_b.Find(side_a.KeyOf(i)));
  }
  for (std::size_t i = 0; i < b.rows.size(); ++i) {
    if (side_a.Find(side_b.KeyOf(i)) == nullptr) add(b.rows[i], side_b, nullptr, &b.rows[i]);
  }
  compared.summary = Summarize(results, sums);
  return compared;
}

}  // namespace reveza::jobs
