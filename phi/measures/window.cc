#include "phi/measures/window.h"

#include <utility>

namespace reveza::phi {
namespace {

bool IsSearched(const WindowOptions& options, Measure measure) {
  return measure != Measure::kInformation &&
         (options.minimum || (measure == Measure::kPhiR && !options.partition));
}

Result<WindowValue> Searched(PartitionSearch& search, Measure measure) {
  ASSIGN_OR_RETURN(auto found, search.Minimum(measure));
  return WindowValue{.measure = measure,
                     .value = found.value,
                     .partition = std::move(found.partition),
                     .examined = found.examined,
                     .exact = found.exact,
                     .method = found.method};
}

Result<WindowValue> At(const GaussianModel& model, const Partition& partition, Measure measure) {
  ASSIGN_OR_RETURN(const auto value, Evaluate(model, partition, measure));
  WindowValue result{.measure = measure, .value = value};
  if (measure != Measure::kInformation) result.partition = partition;
  return result;
}

}  // namespace

Result<std::vector<WindowValue>> MeasureModel(const GaussianModel& model,
                                              const WindowOptions& options, SearchTables* tables) {
  ASSIGN_OR_RETURN(auto partition, options.partition ? Result<Partition>(*options.partition)
                                                     : AtomicPartition(model.variables()));
  PartitionSearch search(model, options.minimum.value_or(SearchOptions{}), tables);
  std::vector<WindowValue> values;
  for (const Measure measure : options.measures) {
    auto value =
        IsSearched(options, measure) ? Searched(search, measure) : At(model, partition, measure);
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

Result<std::vector<WindowValue>> MeasureWindow(std::span<const SeriesView> trials,
                                               const WindowOptions& options, SearchTables* tables) {
  ASSIGN_OR_RETURN(const auto estimate, EstimateModel(trials, options.estimate));
  return MeasureModel(estimate.model, options, tables);
}

Result<std::vector<WindowValue>> MeasureWindow(const SeriesView& series,
                                               const WindowOptions& options, SearchTables* tables) {
  return MeasureWindow(std::span(&series, 1), options, tables);
}

}  // namespace reveza::phi
