// Time series read from files: rows of doubles, divided into trials.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/series.h"

namespace reveza::phi {

struct SeriesTable {
  std::vector<std::string> names;  // of the variables
  std::vector<double> values;      // row-major, length() x variables()
  // First row of each trial, ascending from 0; never empty.
  std::vector<std::int64_t> trials = {0};
  std::vector<std::int64_t> lines = {};  // of the file, by row; empty if it has no lines
  // Rows of a file without lines, if some were dropped or cut.
  std::vector<std::int64_t> rows = {};
  std::vector<std::string> left_out = {};  // columns of times and counters, not asked for
  bool numbers_as_names = false;           // the first row was numbers, and taken for names

  int variables() const { return static_cast<int>(names.size()); }
  std::int64_t length() const {
    return names.empty() ? 0 : static_cast<std::int64_t>(values.size() / names.size());
  }
  SeriesView View() const { return {values.data(), length(), variables(), variables()}; }
  // Returns the line of the file, or its row from 0 if it has no lines, of a row of this table.
  std::int64_t PlaceOf(std::int64_t row) const;
  // Returns a view of each trial; views are valid as long as this table.
  std::vector<SeriesView> Trials() const;

  // Returns where the first value that is not finite is: "line 4: 'Fz' is nan"; empty if all are.
  std::string FirstMissing() const;
  // Drops rows with values that are not finite; a new trial begins after each gap. Returns the
  // number of dropped rows.
  std::int64_t DropMissing();
  // Keeps the first `common` rows of the trials that have as many.
  void CutTrials(std::int64_t common);
};

struct ReadOptions {
  // Columns to read, in this order, by name or 0-based index; empty: all except the trial column,
  // columns whose names say that they hold times (IsTimeName()), and counters of rows.
  std::vector<std::string> columns = {};
  // Column whose value changes where a new trial begins; empty: a single trial (three-dimensional
  // NumPy files: one trial per element of the first dimension).
  std::string trials = {};
  // Delimited text only: whether fields that are not numbers become NaN instead of an error.
  bool text_is_missing = false;
  // Delimited text only: whether the first row has the names of the columns.
  enum class Header {
    kDetect,  // if it has text, or counts its columns from 0 or 1 above a row of decimals
    kText,    // if it has text
    kYes,
    kNo
  };
  Header header = Header::kDetect;
};

// Drops rows with missing values if `missing` is "drop", and returns their number; else returns
// kInvalidArgument, which names the first of `file`.
Result<std::int64_t> ResolveMissing(SeriesTable& table, std::string_view missing,
                                    const std::string& file);

// Reads a file by its extension: .csv, .tsv, .txt, .parquet or .npy. Missing values (an empty
// field, NA, null) become NaN, which the measures reject by row. Errors: file not found or not
// readable, unknown extension, damaged file, missing column, non-numeric field (reported by line
// and column).
Result<SeriesTable> ReadSeries(const std::string& path, const ReadOptions& options);

// Returns the names of a file's columns, from its first 64 KiB or its schema. Empty if it cannot be
// read, or has none, such as .npy.
std::vector<std::string> ColumnNames(const std::string& path);

// The readers for contents in memory; `name` identifies the file in errors.
Result<SeriesTable> ReadDelimited(std::string_view text, const std::string& name,
                                  const ReadOptions& options);
Result<SeriesTable> ReadNumpy(std::string_view bytes, const std::string& name,
                              const ReadOptions& options);
Result<SeriesTable> ReadNumpyFile(const std::string& path, const ReadOptions& options);
// Only in builds with Arrow (common/table/arrow.h).
Result<SeriesTable> ReadParquet(const std::string& path, const ReadOptions& options);

Result<std::vector<std::string>> ParquetColumns(const std::string& path);

// Indices of columns.
struct SelectedColumns {
  std::vector<std::size_t> chosen;
  std::optional<std::size_t> trials;  // the trial column, if options.trials names one
  std::vector<std::string> left_out;  // columns of times
};
// Whether a column of this name holds times: "t", "time", "timestamp", "date", "datetime",
// "seconds", "elapsed" or "epoch", perhaps with a unit, in any case.
bool IsTimeName(std::string_view name);
// Whether a column of this name may count rows: an index without a name, as pandas writes it
// ("", "Unnamed: 0", "__index_level_0__"), "index" or "sample".
bool IsCounterName(std::string_view name);
// Leaves out columns with such names whose values increase from row to row within each trial,
// unless `options` lists columns.
void LeaveOutCounters(const ReadOptions& options, SeriesTable& table);
// Finds the columns selected by `options`; the trial column is not chosen unless it is listed.
Result<SelectedColumns> SelectColumns(const std::vector<std::string>& names,
                                      const std::string& file, const ReadOptions& options);

}  // namespace reveza::phi
