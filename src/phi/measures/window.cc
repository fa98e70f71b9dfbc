#include "phi/measures/window.h"

#include <utility>

namespace reveza::phi {
namespace {

bool IsSearched(const WindowOptions& options, Measure measure) {
  return measure != Measure::kInformation &&
         (options.minimum || (measure == Measure::kPhiR && !options.partition));
}

Result<WindowValue> Searched(PartitionSearch& search, Measure measure) {
  auto found = search.Minimum(measure);
  if (!found) return std::unexpected(found.error());
  return WindowValue{.measure = measure,
                     .value = found->value,
                     .partition = std::move(found->partition),
                     .examined = found->examined,
                     .exact = found->exact,
                     .method = found->method};
}

Result<WindowValue> At(const GaussianModel& model, const Partition& partition, Measure measure) {
  const auto value = Evaluate(model, partition, measure);
  if (!value) return std::unexpected(value.error());
  WindowValue result{.measure = measure, .value = *value};
  if (measure != Measure::kInformation) result.partition = partition;
  return result;
}

}  // namespace

Result<std::vector<WindowValue>> MeasureModel(const GaussianModel& model,
                                              const WindowOptions& options, SearchTables* tables) {
  auto partition = options.partition ? Result<Partition>(*options.partition)
                                     : AtomicPartition(model.variables());
  if (!partition) return std::unexpected(partition.error());
  PartitionSearch search(model, options.minimum.value_or(SearchOptions{}), tables);
  std::vector<WindowValue> values;
  for (const Measure measure : options.measures) {
    auto value =
        IsSearched(options, measure) ? Searched(search, measure) : At(model, *partition, measure);
    if (!value) return std::unexpected(value.error());
    values.push_back(*std::move(value));
  }
  return values;
}

Bytes SearchBytes(int variables, const WindowOptions& options) {
  std::vector<Measure> searched;
  for (const Measure measure : options.measures) {
    if (IsSearched(options, measure)) searched.push_back(measure);
  }
  return TableBytes(variables, searched, options.minimum.value_or(SearchOptions{}));
}

Result<WindowResult> MeasureWindow(std::span<const SeriesView> trials, const WindowOptions& options,
                                   SearchTables* tables) {
  const auto estimate = EstimateModel(trials, options.estimate);
  if (!estimate) return std::unexpected(estimate.error());
  auto values = MeasureModel(estimate->model, options, tables);
  if (!values) return std::unexpected(values.error());
  return WindowResult{.values = *std::move(values),
                      .samples = estimate->samples,
                      .shrinkage = estimate->shrinkage,
                      .condition = estimate->model.condition()};
}

Result<WindowResult> MeasureWindow(const SeriesView& series, const WindowOptions& options,
                                   SearchTables* tables) {
  return MeasureWindow(std::span(&series, 1), options, tables);
}

}  // namespace reveza::phi
