#include "phi/measures/whole_series.h"

#include <algorithm>
#include <utility>

#include "phi/measures/estimate.h"
#include "phi/measures/partition.h"

namespace reveza::phi {
namespace {

Status AddSignificance(std::span<const SeriesView> trials, const WindowOptions& options,
                       const SignificanceOptions& chance, const std::vector<WindowValue>& measured,
                       WholeSeries& whole) {
  // The bias formulas hold only for covariances without shrinkage.
  if (chance.bias && whole.shrinkage == 0.0) {
    const auto atomic = AtomicPartition(whole.model.variables());
    for (MeasuredValue& value : whole.values) {
      if (!value.value.partition && !atomic) continue;
      // A minimum is biased downwards, by as much as the bipartitions are alike.
      if (value.value.examined > 1 || !value.value.missing.empty()) continue;
      value.bias = BiasOf(whole.model, value.value.partition ? *value.value.partition : *atomic,
                          value.value.measure, whole.samples);
    }
    whole.bias_note = BiasNote(trials, options.estimate.names);
    if (std::ranges::any_of(whole.values, [](const auto& value) { return !value.bias; })) {
      whole.bias_note += "; phi_star and minima over partitions have none";
    }
    whole.rows_are_independent = std::ranges::count(LongMemories(trials, 0), 0.0) ==
                                 static_cast<std::ptrdiff_t>(whole.model.variables());
  }
  if (chance.surrogates.count > 0) {
    ASSIGN_OR_RETURN(const auto tests,
                     TestAgainstSurrogates(trials, options, measured, chance.surrogates));
    for (std::size_t i = 0; i < tests.size(); ++i) whole.values[i].significance = tests[i];
  }
  if (chance.bootstrap.count > 0) {
    ASSIGN_OR_RETURN(const auto intervals,
                     BootstrapIntervals(trials, options, measured, chance.bootstrap));
    for (std::size_t i = 0; i < intervals.size(); ++i) whole.values[i].interval = intervals[i];
  }
  return {};
}

}  // namespace

Result<WholeSeries> MeasureWhole(std::span<const SeriesView> trials, const WindowOptions& options,
                                 const SignificanceOptions& chance) {
  ASSIGN_OR_RETURN(auto estimate, EstimateModel(trials, options.estimate));
  // Replicates are measured concurrently, each by one thread. A search of fewer variables takes
  // less than a second, and threads in lockstep would wait for each other most of the time.
  constexpr int kManyVariables = 150;
  WindowOptions all_threads = options;
  if (all_threads.minimum && estimate.model.variables() >= kManyVariables) {
    all_threads.minimum->threads = chance.surrogates.threads;
  }
  ASSIGN_OR_RETURN(const auto measured, MeasureModel(estimate.model, all_threads));
  WholeSeries whole = {.model = std::move(estimate.model),
                       .values = {},
                       .samples = estimate.samples,
                       .shrinkage = estimate.shrinkage};
  for (const WindowValue& value : measured) whole.values.push_back({.value = value});
  WindowOptions of_replicates = options;
  if (of_replicates.minimum) of_replicates.minimum->progress = nullptr;
  RETURN_IF_ERROR(AddSignificance(trials, of_replicates, chance, measured, whole));
  return whole;
}

}  // namespace reveza::phi
