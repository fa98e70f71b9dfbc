#include "phi/series/series_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/file_bytes.h"
#include "base/nearest.h"

namespace reveza::phi {
std::vector<SeriesView> SeriesTable::Trials() const {
  std::vector<SeriesView> views;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::int64_t end = i + 1 < trials.size() ? trials[i + 1] : length();
    views.push_back(View().Part(trials[i], end - trials[i]));
  }
  return views;
}

Result<std::size_t> ColumnOf(const std::vector<std::string>& names, const std::string& file,
                             std::string_view wanted) {
  if (const auto named = std::ranges::find(names, wanted); named != names.end()) {
    return static_cast<std::size_t>(named - names.begin());
  }
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (error == std::errc() && end == wanted.data() + wanted.size() && number < names.size()) {
    return number;
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = Nearest(wanted, views);
  return Fail(
      Error::Code::kInvalidArgument,
      fmt::format("{}: there is no column '{}'{}; it has {} columns", file, wanted,
                  nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "", names.size()));
}

Result<std::vector<std::size_t>> ChosenColumns(const std::vector<std::string>& names,
                                               const std::string& file,
                                               const ReadOptions& options) {
  std::vector<std::size_t> chosen;
  for (const std::string& wanted : options.columns) {
    const auto column = ColumnOf(names, file, wanted);
    if (!column) return std::unexpected(column.error());
    if (std::ranges::find(chosen, *column) != chosen.end()) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("column '{}' is asked for twice", wanted));
    }
    chosen.push_back(*column);
  }
  if (!chosen.empty()) return chosen;
  std::size_t trials = names.size();
  if (!options.trials.empty()) {
    const auto column = ColumnOf(names, file, options.trials);
    if (!column) return std::unexpected(column.error());
    trials = *column;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != trials) chosen.push_back(i);
  }
  if (chosen.empty()) {
    return Fail(Error::Code::kInvalidArgument, file + ": it has no column to measure");
  }
  return chosen;
}

Result<SeriesTable> ReadSeries(const std::string& path, const ReadOptions& options) {
  if (path.ends_with(".parquet")) return ReadParquet(path, options);
  const bool numpy = path.ends_with(".npy");
  if (!numpy && !path.ends_with(".csv") && !path.ends_with(".tsv") && !path.ends_with(".txt")) {
    return Fail(Error::Code::kInvalidArgument,
                path + ": its name must end with .csv, .tsv, .txt, .parquet or .npy");
  }
  const auto bytes = FileBytes(path);
  if (!bytes) return std::unexpected(bytes.error());
  return numpy ? ReadNumpy(*bytes, path, options) : ReadSeparated(*bytes, path, options);
}

}  // namespace reveza::phi
