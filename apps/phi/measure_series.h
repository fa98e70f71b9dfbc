// What `phi measure` does once it knows what is wanted: the whole series, or window by window.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "measure_output.h"
#include "phi/measures/significance.h"
#include "phi/measures/window.h"
#include "phi/series/series_table.h"

namespace reveza::phi {

struct WholeSeries {
  GaussianModel model;
  std::vector<MeasuredValue> values;
  std::int64_t samples = 0;
  double shrinkage = 0.0;
};

struct ChanceOptions {
  bool bias = false;
  SurrogateOptions surrogates;  // none where count is 0
  BootstrapOptions bootstrap;   // the same
};

Result<WholeSeries> MeasureWhole(const SeriesTable& table, const WindowOptions& options,
                                 const ChanceOptions& chance);

struct Sliding {
  std::int64_t length = 0;
  std::int64_t step = 1;
  int threads = 1;
  bool legacy = false;
};

// Windows within trials, the first of each at its first row. Errors: no window fits; else what went
// wrong in the first window that failed, with its rows.
Result<std::vector<MeasuredWindow>> MeasureSliding(const SeriesTable& table,
                                                   const WindowOptions& options,
                                                   const Sliding& sliding);

// The mean absolute correlation at the end of a series (measures/legacy.h): from as many of its
// last rows as fill the records.
Result<double> LegacyAtEnd(const SeriesView& series);

}  // namespace reveza::phi
