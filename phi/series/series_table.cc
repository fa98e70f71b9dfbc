#include "phi/series/series_table.h"

#include <algorithm>
#include <utility>

#include "common/base/nearest.h"
#include "common/base/parse_number.h"
#include "common/base/read_file.h"
#include "common/table/arrow.h"

namespace reveza::phi {
namespace {

// Returns the index of the column with the name or 0-based index `wanted`.
Result<std::size_t> FindColumn(const std::vector<std::string>& names, const std::string& file,
                               std::string_view wanted) {
  if (const auto named = std::ranges::find(names, wanted); named != names.end()) {
    return static_cast<std::size_t>(named - names.begin());
  }
  const auto number = ParseNumber<std::size_t>(wanted);
  if (number && *number < names.size()) return *number;
  const std::vector<std::string_view> views(names.begin(), names.end());
  return InvalidArgument("{}: no column '{}'{}; the file has {} columns", file, wanted,
                         DidYouMean(wanted, views), names.size());
}

}  // namespace

std::vector<SeriesView> SeriesTable::Trials() const {
  std::vector<SeriesView> views;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::int64_t end = i + 1 < trials.size() ? trials[i + 1] : length();
    views.push_back(View().Part(trials[i], end - trials[i]));
  }
  return views;
}

Result<SelectedColumns> SelectColumns(const std::vector<std::string>& names,
                                      const std::string& file, const ReadOptions& options) {
  SelectedColumns selected;
  for (const std::string& wanted : options.columns) {
    ASSIGN_OR_RETURN(const auto column, FindColumn(names, file, wanted));
    if (std::ranges::find(selected.chosen, column) != selected.chosen.end()) {
      return InvalidArgument("column '{}' is selected twice", wanted);
    }
    selected.chosen.push_back(column);
  }
  if (!options.trials.empty()) {
    ASSIGN_OR_RETURN(selected.trials, FindColumn(names, file, options.trials));
  }
  if (!selected.chosen.empty()) return selected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != selected.trials) selected.chosen.push_back(i);
  }
  if (selected.chosen.empty()) return InvalidArgument(file + ": no columns to measure");
  return selected;
}

Result<SeriesTable> ReadSeries(const std::string& path, const ReadOptions& options) {
  if (path.ends_with(".parquet")) {
    if constexpr (kHaveArrow) return ReadParquet(path, options);
    return WithoutArrow("Parquet files", "save the series as CSV");
  }
  const bool numpy = path.ends_with(".npy");
  if (!numpy && !path.ends_with(".csv") && !path.ends_with(".tsv") && !path.ends_with(".txt")) {
    return InvalidArgument(path + ": unknown extension; use .csv, .tsv, .txt, .parquet or .npy");
  }
  ASSIGN_OR_RETURN(const auto bytes, ReadFile(path));
  return numpy ? ReadNumpy(bytes, path, options) : ReadDelimited(bytes, path, options);
}

}  // namespace reveza::phi
