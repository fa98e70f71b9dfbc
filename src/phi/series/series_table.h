// Other people's time series as this house wants them: rows of doubles, cut into trials.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "phi/measures/series.h"

namespace reveza::phi {

struct SeriesTable {
  std::vector<std::string> names;  // of the variables
  std::vector<double> values;      // row by row
  // First row of each trial, ascending, the first 0; never empty.
  std::vector<std::int64_t> trials = {0};

  int variables() const { return static_cast<int>(names.size()); }
  std::int64_t length() const {
    return names.empty() ? 0 : static_cast<std::int64_t>(values.size() / names.size());
  }
  SeriesView View() const { return {values.data(), length(), variables(), variables()}; }
  // One view for each trial, into this table.
  std::vector<SeriesView> Trials() const;
};

struct ReadOptions {
  // Names or numbers (from 0) of the columns to take, in this order; empty: all but that of trials.
  std::vector<std::string> columns = {};
  // The column whose value is the same for all rows of a trial, and changes between trials; empty:
  // one trial (for NumPy files of three dimensions: the first of them).
  std::string trials = {};
};

// Reads a file by the end of its name: .csv, .tsv, .txt, .parquet, .npy. What is not known (an
// empty field, NA, a null) is not a number in `values`: who measures refuses it with its row.
// Errors: no such file, no permission, another kind, a damaged file, a column that is not there, a
// field that is no number (named by line and column).
Result<SeriesTable> ReadSeries(const std::string& path, const ReadOptions& options);

// The readers by themselves, for text and bytes that are there; `name` is for messages.
Result<SeriesTable> ReadSeparated(std::string_view text, const std::string& name,
                                  const ReadOptions& options);
Result<SeriesTable> ReadNumpy(std::string_view bytes, const std::string& name,
                              const ReadOptions& options);
Result<SeriesTable> ReadParquet(const std::string& path, const ReadOptions& options);

// Which of `names` are asked for, by number; the column of trials is none of them unless it is
// named.
Result<std::vector<std::size_t>> ChosenColumns(const std::vector<std::string>& names,
                                               const std::string& file, const ReadOptions& options);
// The column of that name or number.
Result<std::size_t> ColumnOf(const std::vector<std::string>& names, const std::string& file,
                             std::string_view wanted);

}  // namespace reveza::phi
