// Columns of numbers from what `phi run` (its folder or rows.csv), `phi measure --window --csv` and
// other people write. Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace reveza::phi {

// What a run's summary says of its measures.
struct RunParameters {
  int dimension = 0;     // elements of a module
  int window = 0;        // rows that a measure looked at
  int lag = 0;           // rows from past to present
  bool minimum = false;  // each measure at its minimum bipartition
};

struct PlotTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;  // what is no number is not a number here either
  std::optional<RunParameters> run;          // where a summary is beside the rows

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  const std::vector<double>* Find(std::string_view name) const;
};

// A file (.csv, .tsv, .txt, .jsonl, .parquet, .npy) or the folder of a run; the summary is that of
// the folder, or beside a file whose name is rows. Errors: it is not
// there, it has no rows, or the readers' of series/.
Result<PlotTable> ReadPlotTable(const std::string& path);
// Objects, a line each; what the first has is a column.
Result<PlotTable> PlotTableFromJsonLines(std::string_view text, const std::string& name);
Result<PlotTable> PlotTableFromCsv(std::string_view text, const std::string& name);

}  // namespace reveza::phi
