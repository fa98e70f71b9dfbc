#include "phi/measures/measures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "common/base/nearest.h"

namespace reveza::phi {
namespace {

constexpr std::array<std::string_view, kAllMeasures.size()> kNames = {
    "i", "mi", "si", "wms", "phi_r", "phi_g", "phi_star"};

// Half log-determinants of a part, or of the whole.
struct HalfLogs {
  double past = 0.0;
  double present = 0.0;
  double both = 0.0;

  double Information() const { return past + present - both; }
};

HalfLogs HalfLogsOf(const GaussianModel& model, const std::vector<int>& variables) {
  return {.past = 0.5 * model.LogDeterminant(model.Past(variables)),
          .present = 0.5 * model.LogDeterminant(model.Present(variables)),
          .both = 0.5 * model.LogDeterminant(model.Both(variables))};
}

double WholeMinusSum(const GaussianModel& model, const Partition& partition) {
  double value = HalfLogsOf(model, model.AllVariables()).Information();
  for (const auto& part : partition.parts()) value -= HalfLogsOf(model, part).Information();
  return value;
}

double Redundancy(const GaussianModel& model, const Partition& partition) {
  double least = HUGE_VAL;
  for (const auto& from : partition.parts()) {
    for (const auto& to : partition.parts()) {
      least = std::min(least, model.MutualInformation(model.Past(from), model.Present(to)));
    }
  }
  return least;
}

}  // namespace

std::string_view NameOf(Measure measure) { return kNames[static_cast<std::size_t>(measure)]; }

Result<Measure> ParseMeasure(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found != kNames.end()) return kAllMeasures[found - kNames.begin()];
  return InvalidArgument("unknown measure '{}'{}; use {}", name, DidYouMean(name, kNames),
                         fmt::join(kNames, ", "));
}

Result<std::vector<Measure>> ParseMeasures(std::string_view names) {
  if (names == "all") return std::vector<Measure>(kAllMeasures.begin(), kAllMeasures.end());
  if (names.empty()) return std::unexpected(ParseMeasure(names).error());
  std::vector<Measure> measures;
  for (const auto name : std::views::split(names, ',')) {
    ASSIGN_OR_RETURN(const auto measure, ParseMeasure(std::string_view(name)));
    if (std::ranges::find(measures, measure) == measures.end()) measures.push_back(measure);
  }
  return measures;
}

Result<double> Evaluate(const GaussianModel& model, const Partition& partition, Measure measure) {
  if (partition.variables() != model.variables()) {
    return InvalidArgument("the partition has {} variables, but the data {}", partition.variables(),
                           model.variables());
  }
  switch (measure) {
    case Measure::kInformation:
      return HalfLogsOf(model, model.AllVariables()).Information();
    case Measure::kMultiInformation: {
      double value = -HalfLogsOf(model, model.AllVariables()).both;
      for (const auto& part : partition.parts()) value += HalfLogsOf(model, part).both;
      return value;
    }
    case Measure::kStochasticInteraction: {
      const HalfLogs whole = HalfLogsOf(model, model.AllVariables());
      double value = whole.past - whole.both;
      for (const auto& part : partition.parts()) {
        const HalfLogs own = HalfLogsOf(model, part);
        value += own.both - own.past;
      }
      return value;
    }
    case Measure::kWholeMinusSum:
      return WholeMinusSum(model, partition);
    case Measure::kPhiR:
      if (partition.parts().size() != 2) {
        return InvalidArgument(
            "phi_r is defined for two parts, but the partition has {}; use two parts, or --mip "
            "exhaustive",
            partition.parts().size());
      }
      return WholeMinusSum(model, partition) + Redundancy(model, partition);
    case Measure::kPhiG: {
      ASSIGN_OR_RETURN(const auto found, GeometricIntegrationOf(model, partition));
      return found.value;
    }
    case Measure::kPhiStar:
      return MismatchedDecodingOf(model, partition).value;
  }
  return Fail(Error::Code::kInternal, "a measure without a formula");
}

}  // namespace reveza::phi
