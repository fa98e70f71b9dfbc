// Computes several measures of one window of a series in a single call.
// Thread-safe: pure functions; results do not depend on the number of threads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/estimate.h"
#include "phi/measures/measures.h"
#include "phi/measures/minimum_partition.h"
#include "phi/measures/partition.h"
#include "phi/measures/series.h"

namespace reveza::phi {

struct WindowOptions {
  std::vector<Measure> measures;
  EstimateOptions estimate = {};
  // The partition; default: atomic, one variable per part.
  std::optional<Partition> partition = {};
  // If set, evaluate each measure at its own minimum bipartition instead.
  std::optional<SearchOptions> minimum = {};
};

struct WindowValue {
  Measure measure = Measure::kInformation;
  double value = 0.0;  // nats
  // The partition of the value; empty for i. phi_r, defined for two parts only, uses its minimum
  // bipartition unless a partition or a search is requested.
  std::optional<Partition> partition = {};
  std::int64_t examined = 0;                        // bipartitions compared; 0 without a search
  bool exact = true;                                // see MinimumPartition
  SearchMethod method = SearchMethod::kExhaustive;  // of the search, if any
  // Of phi_g (GeometricIntegration): starting points of its minimisation, those that led to this
  // value, and a lower bound.
  int starts = 0;
  int agreed = 0;
  double at_least = 0.0;
  std::string missing = {};  // why the value could not be computed, which is then not a number
};

// What to measure, as users name it.
struct MeasureSelection {
  std::string measures = "all";  // as ParseMeasures()
  std::string partition = {};    // as ParsePartition(); empty: the default of WindowOptions
  std::string minimum = {};      // a search method; empty: no search
  bool normalised = false;       // SearchOptions::normalised
};

// Resolves the selection for variables with these names; the estimate remains to be set. With "all"
// and a partition into more than two parts, phi_r is left out. Errors: unknown names, fewer than
// two variables, an invalid partition.
Result<WindowOptions> WindowOptionsOf(const MeasureSelection& selection,
                                      const std::vector<std::string>& names);

// Returns a value that could not be computed, and why.
WindowValue MissingValue(Measure measure, std::string reason);

// Measures the trials or series of one window, in the order of options.measures. Errors: those of
// EstimateModel(), Evaluate() and PartitionSearch.
Result<std::vector<WindowValue>> MeasureWindow(std::span<const SeriesView> trials,
                                               const WindowOptions& options);
Result<std::vector<WindowValue>> MeasureWindow(const SeriesView& series,
                                               const WindowOptions& options);
// Measures a given model. A phi_g that does not converge, and what is not a finite number, are
// values with `missing`.
Result<std::vector<WindowValue>> MeasureModel(const GaussianModel& model,
                                              const WindowOptions& options);

}  // namespace reveza::phi
