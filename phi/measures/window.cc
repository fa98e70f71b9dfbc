#include "phi/measures/window.h"

#include <cmath>
#include <limits>
#include <utility>

namespace reveza::phi {
namespace {

bool IsSearched(const WindowOptions& options, Measure measure) {
  return measure != Measure::kInformation &&
         (options.minimum || (measure == Measure::kPhiR && !options.partition));
}

// Adds how the minimisation of phi_g went.
Status AddStarts(const GaussianModel& model, WindowValue& value) {
  if (value.measure != Measure::kPhiG) return {};
  ASSIGN_OR_RETURN(const auto found, GeometricIntegrationOf(model, *value.partition));
  value.value = found.value;
  value.starts = found.starts;
  value.agreed = found.agreed;
  value.at_least = found.at_least;
  return {};
}

Result<WindowValue> Searched(const PartitionSearch& search, Measure measure) {
  ASSIGN_OR_RETURN(auto found, search.Minimum(measure));
  return WindowValue{.measure = measure,
                     .value = found.value,
                     .partition = std::move(found.partition),
                     .examined = found.examined,
                     .exact = found.exact,
                     .method = found.method};
}

Result<WindowValue> At(const GaussianModel& model, const Partition& partition, Measure measure) {
  WindowValue result{.measure = measure};
  if (measure != Measure::kInformation) result.partition = partition;
  if (measure == Measure::kPhiG && partition.variables() == model.variables()) return result;
  ASSIGN_OR_RETURN(result.value, Evaluate(model, partition, measure));
  return result;
}

}  // namespace

WindowValue MissingValue(Measure measure, std::string reason) {
  return {.measure = measure,
          .value = std::numeric_limits<double>::quiet_NaN(),
          .exact = false,
          .missing = std::move(reason)};
}

Result<std::vector<WindowValue>> MeasureModel(const GaussianModel& model,
                                              const WindowOptions& options) {
  ASSIGN_OR_RETURN(auto partition, options.partition ? Result<Partition>(*options.partition)
                                                     : AtomicPartition(model.variables()));
  const PartitionSearch search(model, options.minimum.value_or(SearchOptions{}));
  std::vector<WindowValue> values;
  for (const Measure measure : options.measures) {
    auto value =
        IsSearched(options, measure) ? Searched(search, measure) : At(model, partition, measure);
    Status done;
    if (value) done = AddStarts(model, *value);
    if (!value) done = std::unexpected(value.error());
    if (!done && done.error().code != Error::Code::kUnavailable) {
      return std::unexpected(done.error());
    }
    if (done && !std::isfinite(value->value)) {
      done =
          Fail(Error::Code::kUnavailable, "not a finite number; the model is too nearly singular");
    }
    values.push_back(done ? *std::move(value) : MissingValue(measure, done.error().message));
  }
  return values;
}

Result<WindowOptions> WindowOptionsOf(const MeasureSelection& selection,
                                      const std::vector<std::string>& names) {
  const auto variables = static_cast<int>(names.size());
  WindowOptions options;
  ASSIGN_OR_RETURN(options.measures, ParseMeasures(selection.measures));
  if (variables < 2) {
    return InvalidArgument("{} variable given; integration needs at least two", variables);
  }
  if (!selection.partition.empty()) {
    ASSIGN_OR_RETURN(options.partition, ParsePartition(selection.partition, variables, names));
    if (selection.measures == "all" && options.partition->parts().size() != 2) {
      std::erase(options.measures, Measure::kPhiR);
    }
  }
  if (!selection.minimum.empty()) {
    ASSIGN_OR_RETURN(const auto method, ParseSearchMethod(selection.minimum));
    options.minimum = SearchOptions{.method = method, .normalised = selection.normalised};
  }
  return options;
}

Result<std::vector<WindowValue>> MeasureWindow(std::span<const SeriesView> trials,
                                               const WindowOptions& options) {
  ASSIGN_OR_RETURN(const auto estimate, EstimateModel(trials, options.estimate));
  return MeasureModel(estimate.model, options);
}

Result<std::vector<WindowValue>> MeasureWindow(const SeriesView& series,
                                               const WindowOptions& options) {
  return MeasureWindow(std::span(&series, 1), options);
}

}  // namespace reveza::phi
