// The values that a command is run with: a grid of them, a table, or lines.
//
//   ::: seed 1..500            one step for each seed
//   ::: seed 1..3 ::: model a b     a grid of six; the last varies fastest
//   ::: seed 1..3 :::+ name x y z   linked: the first seed goes with the first name
//   ::: lr 0.1..0.5..0.1       0.1 0.2 0.3 0.4 0.5
//   ::: file @list.txt         the lines of a file (@@ is an @)
//
// Thread-safety: pure functions of their arguments and the files that are named.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runner/job.h"

namespace reveza::runner {

// More would be a mistake more often than a job.
inline constexpr std::size_t kMostSteps = 1'000'000;

// A parameter and all of its values.
struct Column {
  std::string name;
  std::vector<std::string> values;

  bool operator==(const Column&) const = default;
};

// Columns that go together: all of the same length. A grid takes each of its axes by each other.
using Axis = std::vector<Column>;

// The parameters of each step.
using ParameterRows = std::vector<std::vector<Parameter>>;

// What one word stands for: the numbers of a range, the lines of a file, or itself. Files are
// looked for in `folder`. kInvalidArgument: a range that never arrives or is too long.
Result<std::vector<std::string>> ValuesOf(std::string_view word,
                                          const std::filesystem::path& folder);

// The words from the first ":::" on. kInvalidArgument: what is wrong with them, and what would be
// right.
Result<std::vector<Axis>> ParseAxes(std::span<const std::string> words,
                                    const std::filesystem::path& folder);

// Links a column with an axis. kInvalidArgument: not as long as that is.
Status Link(Axis& axis, Column column);

// Every value of each axis by every value of each other, the last varying fastest. No axes: one
// row without parameters. kInvalidArgument: more than kMostSteps, or a name twice.
Result<ParameterRows> Grid(std::span<const Axis> axes);

// A table with the names in its first line; fields in "quotes" may hold commas, quotes ("") and
// line ends. `name` is what errors call the file; they say line and column.
Result<ParameterRows> ParseCsv(std::string_view text, std::string_view name);

// One row a line, with parameter `line`. Empty lines are left out.
Result<ParameterRows> ParseLines(std::string_view text, std::string_view name);

}  // namespace reveza::runner
