// The measures of all rows of a series with their bias, significance and intervals. Pure functions;
// results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/series.h"
#include "phi/measures/significance.h"
#include "phi/measures/window.h"

namespace reveza::phi {

// The value of one measure with its optional statistics.
struct MeasuredValue {
  WindowValue value;
  std::optional<double> bias = {};
  std::optional<Significance> significance = {};
  std::optional<Interval> interval = {};
};

struct SignificanceOptions {
  bool bias = false;
  SurrogateOptions surrogates;  // skipped if count is 0
  BootstrapOptions bootstrap;   // skipped if count is 0
};

struct WholeSeries {
  GaussianModel model;
  std::vector<MeasuredValue> values;
  std::int64_t samples = 0;          // pairs of past and present
  double shrinkage = 0.0;            // applied intensity, 0 to 1
  std::string bias_note = {};        // of values with a bias (BiasNote()); empty if none has one
  bool rows_are_independent = true;  // as far as the bias needs it; true without one
};

// Measures the trials, in the order of options.measures, with the threads of chance.surrogates; the
// progress of options.minimum is that of the trials. There is no bias where it has no formula: with
// shrinkage, and of a minimum over partitions. Errors: those of EstimateModel(), MeasureModel(),
// TestAgainstSurrogates() and BootstrapIntervals().
Result<WholeSeries> MeasureWhole(std::span<const SeriesView> trials, const WindowOptions& options,
                                 const SignificanceOptions& chance);

}  // namespace reveza::phi
