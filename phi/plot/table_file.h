// Reads tables of numbers: output of `phi run` (folder or rows) and `phi measure --window`, and
// other time series. Thread-safe: functions without shared state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace reveza::phi {

// Parameters of the measures, from a run's summary.json.
struct RunParameters {
  int dimension = 0;     // elements per module
  int window = 0;        // rows per window
  int lag = 0;           // rows from past to present
  bool minimum = false;  // measured at minimum bipartitions
};

struct PlotTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;  // cells that are not numbers are NaN
  std::vector<std::int64_t> lines = {};      // of the file, by row; empty if it has no lines
  std::optional<RunParameters> run;          // from summary.json next to the rows, if any

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  // Returns the column of that name, or null.
  const std::vector<double>* Find(std::string_view name) const;
};

// Reads a file (.csv, .tsv, .txt, .parquet, .npy) or the output folder of a run, with the summary
// of the folder or next to a file named rows.*. Errors: no such file, no rows, several trials, or
// those of the readers in phi/series.
Result<PlotTable> ReadPlotTable(const std::string& path);
// Parses delimited text as `phi measure` does; fields that are not numbers become NaN.
Result<PlotTable> PlotTableFromCsv(std::string_view text, const std::string& name);

}  // namespace reveza::phi
