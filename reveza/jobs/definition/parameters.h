// Parameter values of a job: a grid, a table, or lines.
//
//   ::: seed 1..500            one step per seed
//   ::: seed 1..3 ::: model a b     a grid of six; the last parameter varies fastest
//   ::: seed 1..3 :::+ name x y z   linked: values are paired by position
//   ::: lr 0.1..0.5..0.1       0.1 0.2 0.3 0.4 0.5
//   ::: file @list.txt         the lines of a file (@@ escapes a leading @)
//   ::: lr sobol 0..1 64       64 samples of a range (sobol.h)
//
// Pure functions of their arguments and of the files they name.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/step_parameters.h"

namespace reveza::jobs {

// A larger job is most likely a mistake.
inline constexpr std::size_t kMaxSteps = 1'000'000;

// A parameter and its values.
struct Column {
  std::string name;
  std::vector<std::string> values;

  bool operator==(const Column&) const = default;
};

// Linked columns, all of the same length. A grid is the cross product of its axes.
using Axis = std::vector<Column>;

// Expands a word: a range to its numbers, @FILE to the lines of the file, anything else to itself.
// Files are resolved against `folder`. kInvalidArgument: a range that is empty or too long.
Result<std::vector<std::string>> ExpandValues(std::string_view word,
                                              const std::filesystem::path& folder);

// Expands the words after a parameter's name, or the text of a job file that stands for them.
// `sampled` counts the parameters of the job that are samples of a range.
Result<std::vector<std::string>> ExpandWords(std::span<const std::string> words,
                                             const std::filesystem::path& folder,
                                             std::size_t& sampled);
Result<std::vector<std::string>> ExpandText(std::string_view text,
                                            const std::filesystem::path& folder,
                                            std::size_t& sampled);

// Parses the words from the first ":::" on. kInvalidArgument names the expected form.
Result<std::vector<Axis>> ParseAxes(std::span<const std::string> words,
                                    const std::filesystem::path& folder);

// Links a column to an axis. kInvalidArgument: their lengths differ.
Status Link(Axis& axis, Column column);

// Returns the cross product of the axes, the last varying fastest; one empty row without axes.
// kInvalidArgument: more than kMaxSteps rows, or a duplicate name.
Result<ParameterTable> Grid(std::span<const Axis> axes);

// Parses a CSV table with names in its first line; fields in "quotes" may contain commas, quotes
// ("") and newlines. kInvalidArgument messages begin with "name:line:column: ".
Result<ParameterTable> ParseCsv(std::string_view text, std::string_view name);

// Returns one row per non-empty line, with the parameter `line`.
Result<ParameterTable> ParseLines(std::string_view text, std::string_view name);

}  // namespace reveza::jobs
