// Several measures of one stretch of a series, in one call: what runs of cycles and sliding windows
// ask for.
// Thread-safety: pure functions; windows may be measured by any number of threads, with the same
// values.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "phi/measures/estimate.h"
#include "phi/measures/measures.h"
#include "phi/measures/minimum_partition.h"
#include "phi/measures/partition.h"
#include "phi/measures/series.h"

namespace reveza::phi {

struct WindowOptions {
  std::vector<Measure> measures;
  EstimateOptions estimate = {};
  // The partition to measure at; none: each variable alone (atomic).
  std::optional<Partition> partition = {};
  // Search each measure's own minimum bipartition instead.
  std::optional<SearchOptions> minimum = {};
};

struct WindowValue {
  Measure measure = Measure::kInformation;
  double value = 0.0;  // nats
  // Where it was measured; none for i. phi_r, defined for two parts only, is measured at its
  // minimum bipartition where neither a partition nor a search was asked for.
  std::optional<Partition> partition = {};
  std::int64_t examined = 0;                        // bipartitions compared; 0 without a search
  bool exact = true;                                // see MinimumPartition
  SearchMethod method = SearchMethod::kExhaustive;  // of the search, where there was one
};

struct WindowResult {
  std::vector<WindowValue> values;  // in the order of the measures asked for
  std::int64_t samples = 0;
  double shrinkage = 0.0;
  double condition = 0.0;  // of the joint correlation matrix
};

// The memory of the searches that measuring one window of so many variables takes.
Bytes SearchBytes(int variables, const WindowOptions& options);

// `tables` is memory for searches that one thread after another window may use again.
// Errors: those of EstimateModel, Evaluate and PartitionSearch.
Result<WindowResult> MeasureWindow(std::span<const SeriesView> trials, const WindowOptions& options,
                                   SearchTables* tables = nullptr);
Result<WindowResult> MeasureWindow(const SeriesView& series, const WindowOptions& options,
                                   SearchTables* tables = nullptr);
// Of a model that is there already.
Result<std::vector<WindowValue>> MeasureModel(const GaussianModel& model,
                                              const WindowOptions& options,
                                              SearchTables* tables = nullptr);

}  // namespace reveza::phi
