#include "phi/measures/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "common/base/parse_number.h"
#include "phi/arithmetic/finite.h"

namespace reveza::phi {
namespace {

// Maximum number of past and present values; their covariance takes 3.2 GB.
constexpr std::int64_t kMaxWidth = 20'000;

struct Range {
  double lowest = HUGE_VAL;
  double highest = -HUGE_VAL;
};

// Returns the range of each variable.
std::vector<Range> RangesOf(std::span<const SeriesView> trials) {
  std::vector<Range> ranges(trials.front().variables);
  for (const SeriesView& view : trials) {
    for (std::int64_t t = 0; t < view.length; ++t) {
      for (int i = 0; i < view.variables; ++i) {
        ranges[i].lowest = std::min(ranges[i].lowest, view.Row(t)[i]);
        ranges[i].highest = std::max(ranges[i].highest, view.Row(t)[i]);
      }
    }
  }
  return ranges;
}

Status CheckVariation(const std::vector<Range>& ranges, std::span<const std::string> names) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [lowest, highest] = ranges[i];
    // A range of a few ulp is rounding error around a constant.
    if (highest - lowest > 1e-14 * std::max(std::abs(lowest), std::abs(highest))) continue;
    return InvalidArgument("{} is constant ({}); choose others with --columns",
                           VariableName(names, static_cast<int>(i)), lowest);
  }
  return {};
}

// Returns the power of two below the range of each variable. Dividing by it is exact and keeps
// variances far from overflow and underflow.
std::vector<int> ExponentsOf(const std::vector<Range>& ranges) {
  constexpr int kMax = 1022;  // 2^-1022 and 2^1022 are normal numbers
  std::vector<int> exponents;
  for (const auto& [lowest, highest] : ranges) {
    const double width = highest - lowest;
    exponents.push_back(std::isfinite(width) ? std::clamp(std::ilogb(width), -kMax, kMax) : kMax);
  }
  return exponents;
}

// Returns the rows (X_0, Y_0, X_1, Y_1, ...), divided by 2^exponent and centred, whose second
// moment is the joint covariance.
struct Design {
  std::int64_t samples = 0;
  int width = 0;
  std::vector<double> values;

  const double* Row(std::int64_t row) const { return values.data() + row * width; }
  double* Row(std::int64_t row) { return values.data() + row * width; }
};

std::int64_t SamplesOf(std::span<const SeriesView> trials, int lag, int order) {
  std::int64_t samples = 0;
  for (const SeriesView& view : trials) {
    samples += std::max<std::int64_t>(0, view.length - lag - order + 1);
  }
  return samples;
}

Design MakeDesign(std::span<const SeriesView> trials, int lag, int order,
                  const std::vector<int>& exponents) {
  const int variables = trials.front().variables;
  std::vector<double> factors;
  for (const int exponent : exponents) factors.push_back(std::ldexp(1.0, -exponent));
  Design design;
  design.width = variables * (order + 1);
  design.samples = SamplesOf(trials, lag, order);
  design.values.resize(static_cast<std::size_t>(design.samples * design.width));
  std::vector<double> mean(static_cast<std::size_t>(design.width), 0.0);
  std::int64_t row = 0;
  for (const SeriesView& view : trials) {
    for (std::int64_t t = lag + order - 1; t < view.length; ++t, ++row) {
      double* out = design.Row(row);
      for (int i = 0; i < variables; ++i) {
        const double factor = factors[i];
        for (int k = 0; k < order; ++k) *out++ = view.Row(t - lag - k)[i] * factor;
        *out++ = view.Row(t)[i] * factor;
      }
      for (int j = 0; j < design.width; ++j) mean[j] += design.Row(row)[j];
    }
  }
  for (double& value : mean) value /= static_cast<double>(design.samples);
  for (std::int64_t r = 0; r < design.samples; ++r) {
    double* const out = design.Row(r);
    for (int j = 0; j < design.width; ++j) out[j] -= mean[j];
  }
  return design;
}

// Returns the lower triangle of the second moments, summed in row order.
Matrix CovarianceOf(const Design& design) {
  Matrix sum(design.width, design.width);
  for (std::int64_t r = 0; r < design.samples; ++r) {
    const double* const row = design.Row(r);
    for (int i = 0; i < design.width; ++i) {
      const double factor = row[i];
      double* const out = sum.Row(i);
      for (int j = 0; j <= i; ++j) out[j] += factor * row[j];
    }
  }
  const double scale = 1.0 / static_cast<double>(design.samples);
  for (int i = 0; i < design.width; ++i) {
    for (int j = 0; j <= i; ++j) {
      sum(i, j) *= scale;
      sum(j, i) = sum(i, j);
    }
  }
  return sum;
}

double AutomaticShrinkage(const Design& design, const Matrix& covariance) {
  const int width = design.width;
  std::vector<double> scale(static_cast<std::size_t>(width));
  for (int i = 0; i < width; ++i) {
    scale[i] = 1.0 / std::sqrt(covariance(i, i));
  }
  Matrix squares(width, width);
  std::vector<double> row(static_cast<std::size_t>(width));
  for (std::int64_t r = 0; r < design.samples; ++r) {
    for (int i = 0; i < width; ++i) {
      const double value = design.Row(r)[i] * scale[i];
      row[i] = value * value;
    }
    for (int i = 0; i < width; ++i) {
      for (int j = 0; j < i; ++j) {
        squares(i, j) += row[i] * row[j];
      }
    }
  }
  const auto count = static_cast<double>(design.samples);
  double variance = 0.0;
  double signal = 0.0;
  for (int i = 0; i < width; ++i) {
    for (int j = 0; j < i; ++j) {
      const double r = covariance(i, j) * scale[i] * scale[j];
      variance += count / std::pow(count - 1.0, 3) * (squares(i, j) - count * r * r);
      signal += r * r;
    }
  }
  return signal > 0.0 ? std::clamp(variance / signal, 0.0, 1.0) : 1.0;
}

std::int64_t WidthOf(std::span<const SeriesView> trials, int order) {
  return trials.front().variables * (std::int64_t{order} + 1);
}

Status CheckShape(std::span<const SeriesView> trials, int lag, int order) {
  if (trials.empty() || trials.front().variables < 1) return InvalidArgument("the series is empty");
  for (const SeriesView& view : trials) {
    if (view.variables != trials.front().variables) {
      return InvalidArgument("trials have different numbers of variables");
    }
  }
  if (lag < 1 || order < 1) {
    return InvalidArgument("lag (tau) and order must be at least 1, not {} and {}", lag, order);
  }
  if (WidthOf(trials, order) > kMaxWidth) {
    return InvalidArgument(
        "{} variables with {} past and one present value each are {} columns, but at most {} are "
        "supported; use a lower order, or fewer variables",
        trials.front().variables, order, WidthOf(trials, order), kMaxWidth);
  }
  return {};
}

struct Moments {
  Matrix covariance;
  std::vector<double> log_scales;  // of the rows, which are divided by them
  double shrinkage = 0.0;
};

// Returns the covariance of the rows (X_0, Y_0, X_1, Y_1, ...), shrunk.
Result<Moments> MomentsOf(std::span<const SeriesView> trials, int lag, int order,
                          const Shrinkage& shrinkage, std::span<const std::string> names) {
  const std::vector<Range> ranges = RangesOf(trials);
  RETURN_IF_ERROR(CheckVariation(ranges, names));
  const std::vector<int> exponents = ExponentsOf(ranges);
  const Design design = MakeDesign(trials, lag, order, exponents);
  Moments moments{.covariance = CovarianceOf(design), .log_scales = {}};
  if (shrinkage.kind == Shrinkage::Kind::kAmount) moments.shrinkage = shrinkage.amount;
  if (shrinkage.kind == Shrinkage::Kind::kAutomatic) {
    moments.shrinkage = AutomaticShrinkage(design, moments.covariance);
  }
  if (!(moments.shrinkage >= 0.0 && moments.shrinkage <= 1.0)) {
    return InvalidArgument("shrinkage must be from 0 to 1, not {}", moments.shrinkage);
  }
  for (int i = 0; i < design.width; ++i) {
    for (int j = 0; j < design.width; ++j) {
      if (i != j) moments.covariance(i, j) *= 1.0 - moments.shrinkage;
    }
  }
  for (const int exponent : exponents) {
    moments.log_scales.insert(moments.log_scales.end(), static_cast<std::size_t>(order) + 1,
                              exponent * std::numbers::ln2);
  }
  return moments;
}

}  // namespace

Status CheckNumbers(std::span<const SeriesView> trials, std::span<const std::string> names) {
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    const SeriesView& view = trials[trial];
    const auto values = static_cast<std::size_t>(view.length * view.variables);
    if (view.stride == view.variables && AllFinite({view.values, values})) continue;
    for (std::int64_t t = 0; t < view.length; ++t) {
      for (int i = 0; i < view.variables; ++i) {
        if (std::isfinite(view.Row(t)[i])) continue;
        return InvalidArgument("row {} of {}{} is {}; leave out or fill in rows that are not known",
                               t, VariableName(names, i),
                               trials.size() > 1 ? fmt::format(" in trial {}", trial) : "",
                               view.Row(t)[i]);
      }
    }
  }
  return {};
}

Result<Shrinkage> ParseShrinkage(std::string_view text) {
  if (text == "none") return Shrinkage{};
  if (text == "auto") return Shrinkage{.kind = Shrinkage::Kind::kAutomatic, .amount = 0};
  const auto amount = ParseNumber<double>(text);
  if (!amount || !(*amount >= 0.0 && *amount <= 1.0)) {
    return InvalidArgument("'{}' is invalid; use none, auto or a number from 0 to 1", text);
  }
  return Shrinkage{.kind = Shrinkage::Kind::kAmount, .amount = *amount};
}

Result<Estimate> EstimateModel(std::span<const SeriesView> trials, const EstimateOptions& options) {
  RETURN_IF_ERROR(CheckShape(trials, options.lag, options.order));
  RETURN_IF_ERROR(CheckNumbers(trials, options.names));
  const auto width = static_cast<int>(WidthOf(trials, options.order));
  const std::int64_t samples = SamplesOf(trials, options.lag, options.order);
  const bool shrinks = options.shrinkage.kind != Shrinkage::Kind::kNone;
  const std::int64_t least = shrinks ? 3 : width + 2;
  if (samples < least) {
    return InvalidArgument(
        "too short: {} pairs of past and present, but {} variables with {} past and one present "
        "value each need at least {}; use more rows, fewer variables{}",
        samples, trials.front().variables, options.order, least, shrinks ? "" : ", or --shrinkage");
  }
  ASSIGN_OR_RETURN(const auto moments,
                   MomentsOf(trials, options.lag, options.order, options.shrinkage, options.names));
  ASSIGN_OR_RETURN(auto model, GaussianModel::FromJoint(moments.covariance, options.order,
                                                        moments.log_scales, options.names));
  return Estimate{.model = std::move(model), .samples = samples, .shrinkage = moments.shrinkage};
}

StandardPairs StandardPairsOf(std::span<const SeriesView> trials, const EstimateOptions& options) {
  Design design = MakeDesign(trials, options.lag, options.order, ExponentsOf(RangesOf(trials)));
  std::vector<double> squares(static_cast<std::size_t>(design.width), 0.0);
  for (std::int64_t row = 0; row < design.samples; ++row) {
    for (int j = 0; j < design.width; ++j) squares[j] += design.Row(row)[j] * design.Row(row)[j];
  }
  for (double& value : squares)
    value = 1.0 / std::sqrt(value / static_cast<double>(design.samples));
  for (std::int64_t row = 0; row < design.samples; ++row) {
    for (int j = 0; j < design.width; ++j) design.Row(row)[j] *= squares[j];
  }
  return {.count = design.samples, .width = design.width, .values = std::move(design.values)};
}

Result<SimultaneousEstimate> EstimateSimultaneous(std::span<const SeriesView> trials,
                                                  const Shrinkage& shrinkage,
                                                  std::span<const std::string> names) {
  RETURN_IF_ERROR(CheckShape(trials, 1, 1));
  RETURN_IF_ERROR(CheckNumbers(trials, names));
  // Without a past, each row is a sample.
  constexpr int kNoPast = 0;
  const std::int64_t samples = SamplesOf(trials, 1, kNoPast);
  const bool shrinks = shrinkage.kind != Shrinkage::Kind::kNone;
  const std::int64_t least = shrinks ? 3 : trials.front().variables + 2;
  if (samples < least) {
    return InvalidArgument(
        "too short: {} rows, but {} variables need at least {}; use more rows, fewer variables{}",
        samples, trials.front().variables, least, shrinks ? "" : ", or --shrinkage");
  }
  ASSIGN_OR_RETURN(const auto moments, MomentsOf(trials, 1, kNoPast, shrinkage, names));
  ASSIGN_OR_RETURN(auto correlation, CorrelationOf(moments.covariance, names));
  return SimultaneousEstimate{
      .correlation = std::move(correlation), .samples = samples, .shrinkage = moments.shrinkage};
}

Result<Estimate> EstimateModel(const SeriesView& series, const EstimateOptions& options) {
  return EstimateModel(std::span(&series, 1), options);
}

Result<int> BestOrder(std::span<const SeriesView> trials, int lag, int max_order,
                      OrderCriterion criterion, std::vector<std::string> names) {
  RETURN_IF_ERROR(CheckShape(trials, lag, max_order));
  const std::int64_t width = std::int64_t{trials.front().variables} * (std::int64_t{max_order} + 1);
  if (SamplesOf(trials, lag, max_order) < width + 2) {
    return InvalidArgument(
        "too short to select an order up to {}: it needs {} pairs of past and present, but there "
        "are {}; use a smaller --max-order, more rows or fewer variables",
        max_order, width + 2, SamplesOf(trials, lag, max_order));
  }
  // The model of the highest order contains all lower ones, estimated on the same rows.
  ASSIGN_OR_RETURN(
      const auto longest,
      EstimateModel(trials, {.lag = lag, .order = max_order, .names = std::move(names)}));
  const int variables = trials.front().variables;
  const auto samples = static_cast<double>(longest.samples);
  int best = 1;
  double least = HUGE_VAL;
  for (int order = 1; order <= max_order; ++order) {
    std::vector<int> past;
    for (int i = 0; i < variables; ++i) {
      for (int k = 0; k < order; ++k) past.push_back(i * (max_order + 1) + k);
    }
    std::vector<int> both = past;
    for (int i = 0; i < variables; ++i) both.push_back(i * (max_order + 1) + max_order);
    const double residual = longest.model.LogDeterminant(both) - longest.model.LogDeterminant(past);
    const double weight = criterion == OrderCriterion::kAic ? 2.0 : std::log(samples);
    const double value = residual + weight * order * variables * variables / samples;
    if (value < least) {
      least = value;
      best = order;
    }
  }
  return best;
}

}  // namespace reveza::phi
