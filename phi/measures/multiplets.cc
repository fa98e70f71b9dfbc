#include "phi/measures/multiplets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/minimum_partition.h"
#include "phi/measures/subset_determinants.h"

namespace reveza::phi {
namespace {

constexpr std::array<std::string_view, kMultipletMeasures.size()> kMultipletNames = {"o", "s", "tc",
                                                                                     "dtc"};

std::size_t IndexOf(MultipletMeasure measure) { return static_cast<std::size_t>(measure); }

// Returns the values from log |R_S| and the sum of log |R_(S without i)|, for k variables. The
// entropies of the variables themselves cancel.
MultipletValues ValuesFrom(double whole, double without_one, int order) {
  const double total = -0.5 * whole;
  const double dual = 0.5 * (without_one - (order - 1) * whole);
  return {total - dual, total + dual, total, dual};
}

// Series of which each value is replaced by the normal quantile of its rank.
struct CopulaSeries {
  std::vector<std::vector<double>> values;
  std::vector<SeriesView> views;
};

// Where a value is: its trial and row.
struct Place {
  double value = 0.0;
  std::size_t trial = 0;
  std::int64_t row = 0;
};

std::vector<Place> SortedPlaces(std::span<const SeriesView> trials, int variable) {
  std::vector<Place> places;
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    for (std::int64_t row = 0; row < trials[trial].length; ++row) {
      places.push_back({trials[trial].Row(row)[variable], trial, row});
    }
  }
  std::ranges::stable_sort(places, {}, &Place::value);
  return places;
}

CopulaSeries CopulaOf(std::span<const SeriesView> trials) {
  CopulaSeries copula;
  for (const SeriesView& from : trials) {
    auto& values = copula.values.emplace_back(static_cast<std::size_t>(from.length) *
                                              static_cast<std::size_t>(from.variables));
    copula.views.push_back({values.data(), from.length, from.variables, from.variables});
  }
  for (int variable = 0; variable < trials.front().variables; ++variable) {
    const std::vector<Place> places = SortedPlaces(trials, variable);
    for (std::size_t begin = 0; begin < places.size();) {
      std::size_t end = begin;
      while (end < places.size() && places[end].value == places[begin].value) ++end;
      const double rank = 0.5 * static_cast<double>(begin + end + 1);  // from 1
      const double quantile = NormalQuantile(rank / static_cast<double>(places.size() + 1));
      for (; begin < end; ++begin) {
        const auto& [value, trial, row] = places[begin];
        copula.values[trial][static_cast<std::size_t>(row * trials[trial].variables + variable)] =
            quantile;
      }
    }
  }
  return copula;
}

// Adds a subset's values to the summary of its order.
void AddTo(const MultipletValues& values, std::uint32_t subset, MultipletOrder& order) {
  ++order.subsets;
  for (std::size_t i = 0; i < values.size(); ++i) {
    order.mean[i] += values[i];
    if (order.subsets == 1 || values[i] < order.lowest[i].value) {
      order.lowest[i] = {values[i], subset};
    }
    if (order.subsets == 1 || values[i] > order.highest[i].value) {
      order.highest[i] = {values[i], subset};
    }
  }
}

}  // namespace

std::string_view NameOf(MultipletMeasure measure) { return kMultipletNames[IndexOf(measure)]; }

Result<Multiplets> Multiplets::Of(const Matrix& correlation, std::vector<double> logs,
                                  Instructions instructions) {
  const int variables = correlation.rows();
  if (variables < 2 || variables > kMaxVariables) {
    return InvalidArgument(
        "{} variable{} given; the subsets of 2 to {} variables can be measured; select them with "
        "--columns",
        variables, variables == 1 ? "" : "s", kMaxVariables);
  }
  const auto lower = Cholesky(correlation);
  if (!lower || LogDeterminantOf(*lower) < kMinLogDeterminant) {
    return InvalidArgument(
        "the determinant of the correlation matrix is below 1e-260, too small for a table of all "
        "subsets; use fewer variables");
  }
  Multiplets result;
  result.variables_ = variables;
  result.logs_ = std::move(logs);
  SubsetDeterminants(correlation, variables, {}, instructions, result.logs_);
  for (double& value : result.logs_) value = std::log(value);
  return result;
}

MultipletValues Multiplets::ValuesOf(std::uint32_t subset) const {
  double without_one = 0.0;
  for (std::uint32_t left = subset; left != 0; left &= left - 1) {
    without_one += logs_[subset ^ (left & -left)];
  }
  return ValuesFrom(logs_[subset], without_one, std::popcount(subset));
}

std::vector<MultipletOrder> Multiplets::Orders() const {
  std::vector<MultipletOrder> orders(static_cast<std::size_t>(variables_) + 1);
  const std::uint32_t count = std::uint32_t{1} << variables_;
  for (std::uint32_t subset = 1; subset < count; ++subset) {
    AddTo(ValuesOf(subset), subset, orders[static_cast<std::size_t>(std::popcount(subset))]);
  }
  orders.erase(orders.begin(), orders.begin() + 2);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    orders[i].order = static_cast<int>(i) + 2;
    for (double& value : orders[i].mean) value /= static_cast<double>(orders[i].subsets);
  }
  return orders;
}

Bytes MultipletBytes(int variables, int threads) {
  if (variables > Multiplets::kMaxVariables) return 0;
  return (sizeof(double) << variables) * static_cast<Bytes>(std::max(1, threads));
}

Result<MeasuredMultiplets> MeasureMultiplets(std::span<const SeriesView> trials,
                                             const MultipletOptions& options,
                                             std::vector<double> memory) {
  // The estimate of the values themselves finds those that are missing or constant.
  ASSIGN_OR_RETURN(auto estimate, EstimateSimultaneous(trials, options.shrinkage, options.names));
  if (options.copula) {
    const CopulaSeries copula = CopulaOf(trials);
    ASSIGN_OR_RETURN(estimate,
                     EstimateSimultaneous(copula.views, options.shrinkage, options.names));
  }
  ASSIGN_OR_RETURN(auto multiplets, Multiplets::Of(estimate.correlation.matrix, std::move(memory)));
  return MeasuredMultiplets{.multiplets = std::move(multiplets),
                            .samples = estimate.samples,
                            .shrinkage = estimate.shrinkage,
                            .condition = estimate.correlation.condition};
}

MultipletValues MultipletBias(int order, std::int64_t samples) {
  // Of log |R| of k variables, up to a constant per variable, which cancels.
  const auto bias = [&](int dimensions) {
    double sum = 0.0;
    for (int i = 1; i <= dimensions; ++i) {
      sum += Digamma(0.5 * static_cast<double>(samples - i)) -
             Digamma(0.5 * static_cast<double>(samples - 1));
    }
    return sum;
  };
  return ValuesFrom(bias(order), order * bias(order - 1), order);
}

Result<MultipletNull> MultipletNull::Of(std::span<const SeriesView> trials,
                                        const MultipletOptions& options,
                                        const SurrogateOptions& surrogates) {
  if (surrogates.count < 1 || trials.empty()) {
    return InvalidArgument("a test needs at least one surrogate");
  }
  RETURN_IF_ERROR(CheckSurrogates(trials, surrogates.kind));
  std::vector<std::vector<int>> parts;
  for (int i = 0; i < trials.front().variables; ++i) parts.push_back({i});
  std::vector<std::vector<MultipletOrder>> drawn(static_cast<std::size_t>(surrogates.count));
  std::vector<std::optional<Error>> errors(drawn.size());
  ParallelFor(surrogates.threads, drawn.size(), [&] {
    return [&, memory = std::vector<double>()](std::size_t i) mutable {
      const Surrogate surrogate = SurrogateOf(trials, parts, surrogates.kind, surrogates.seed,
                                              static_cast<std::uint32_t>(i));
      auto measured = MeasureMultiplets(surrogate.views, options, std::exchange(memory, {}));
      if (!measured) {
        errors[i] = measured.error();
        return;
      }
      drawn[i] = measured->multiplets.Orders();
      memory = std::move(measured->multiplets).TakeMemory();
    };
  });
  for (const auto& error : errors) {
    if (error) return std::unexpected(*error);
  }
  MultipletNull null;
  null.lowest_.resize(drawn.front().size());
  null.highest_.resize(drawn.front().size());
  for (std::size_t order = 0; order < null.lowest_.size(); ++order) {
    for (std::size_t i = 0; i < kMultipletMeasures.size(); ++i) {
      for (const auto& orders : drawn) {
        null.lowest_[order][i].push_back(orders[order].lowest[i].value);
        null.highest_[order][i].push_back(orders[order].highest[i].value);
      }
      std::ranges::sort(null.lowest_[order][i]);
      std::ranges::sort(null.highest_[order][i]);
    }
  }
  return null;
}

double MultipletNull::P(MultipletMeasure measure, int order, double value, bool low) const {
  const auto& null =
      (low ? lowest_ : highest_)[static_cast<std::size_t>(order - 2)][IndexOf(measure)];
  const auto extreme = low ? std::ranges::upper_bound(null, value) - null.begin()
                           : null.end() - std::ranges::lower_bound(null, value);
  return static_cast<double>(1 + extreme) / (1.0 + static_cast<double>(null.size()));
}

double MultipletNull::Bound(MultipletMeasure measure, int order, bool low) const {
  const auto& null =
      (low ? lowest_ : highest_)[static_cast<std::size_t>(order - 2)][IndexOf(measure)];
  return Quantile(null, low ? 0.05 : 0.95);
}

double NormalQuantile(double share) {
  const double tail = std::min(share, 1.0 - share);
  // Abramowitz & Stegun 26.2.23, polished by Halley's method.
  const double t = std::sqrt(-2.0 * std::log(tail));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 2; ++i) {
    const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - tail;
    const double step = error * std::sqrt(2.0 * std::numbers::pi) * std::exp(0.5 * x * x);
    x -= step / (1.0 + 0.5 * x * step);
  }
  return share < 0.5 ? x : -x;
}

}  // namespace reveza::phi
