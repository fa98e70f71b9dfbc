#include "phi/measures/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace reveza::phi {
namespace {

// Variables by past and present values; a covariance of so many takes 3.2 GB.
constexpr std::int64_t kMostWidth = 20'000;

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

Status CheckNumbers(std::span<const SeriesView> trials) {
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    const SeriesView& view = trials[trial];
    for (std::int64_t t = 0; t < view.length; ++t) {
      for (int i = 0; i < view.variables; ++i) {
        if (std::isfinite(view.Row(t)[i])) continue;
        return Wrong(fmt::format(
            "row {} of variable {}{} is {}; leave out or fill in rows that are not known", t, i,
            trials.size() > 1 ? fmt::format(" in trial {}", trial) : "", view.Row(t)[i]));
      }
    }
  }
  return {};
}

Status CheckVariation(std::span<const SeriesView> trials) {
  for (int i = 0; i < trials.front().variables; ++i) {
    double least = HUGE_VAL;
    double most = -HUGE_VAL;
    for (const SeriesView& view : trials) {
      for (std::int64_t t = 0; t < view.length; ++t) {
        least = std::min(least, view.Row(t)[i]);
        most = std::max(most, view.Row(t)[i]);
      }
    }
    // What varies by a few units in the last place of its value is constant but for rounding.
    if (most - least <= 1e-14 * std::max(std::abs(least), std::abs(most))) {
      return Wrong(
          fmt::format("variable {} is constant ({}); choose others with --columns", i, least));
    }
  }
  return {};
}

// The power of two below the range of each variable. Variances of what is divided by it are far
// from the ends of a double's range, and no bit of a quotient changes.
std::vector<int> ExponentsOf(std::span<const SeriesView> trials) {
  constexpr int kMost = 1022;  // 2^-1022 and 2^1022 are normal numbers
  std::vector<int> exponents;
  for (int i = 0; i < trials.front().variables; ++i) {
    double least = HUGE_VAL;
    double most = -HUGE_VAL;
    for (const SeriesView& view : trials) {
      for (std::int64_t t = 0; t < view.length; ++t) {
        least = std::min(least, view.Row(t)[i]);
        most = std::max(most, view.Row(t)[i]);
      }
    }
    const double range = most - least;
    exponents.push_back(std::isfinite(range) ? std::clamp(std::ilogb(range), -kMost, kMost)
                                             : kMost);
  }
  return exponents;
}

// Rows of (X_0, Y_0, X_1, Y_1, ...), divided by 2^exponent and centred: what the joint covariance
// is the moment of.
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
        const double factor = factors[static_cast<std::size_t>(i)];
        for (int k = 0; k < order; ++k) *out++ = view.Row(t - lag - k)[i] * factor;
        *out++ = view.Row(t)[i] * factor;
      }
      for (int j = 0; j < design.width; ++j)
        mean[static_cast<std::size_t>(j)] += design.Row(row)[j];
    }
  }
  for (double& value : mean) value /= static_cast<double>(design.samples);
  for (std::int64_t r = 0; r < design.samples; ++r) {
    double* const out = design.Row(r);
    for (int j = 0; j < design.width; ++j) out[j] -= mean[static_cast<std::size_t>(j)];
  }
  return design;
}

// The lower triangle of the moments, summed in the order of rows.
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
    scale[static_cast<std::size_t>(i)] = 1.0 / std::sqrt(covariance(i, i));
  }
  Matrix squares(width, width);
  std::vector<double> row(static_cast<std::size_t>(width));
  for (std::int64_t r = 0; r < design.samples; ++r) {
    for (int i = 0; i < width; ++i) {
      const double value = design.Row(r)[i] * scale[static_cast<std::size_t>(i)];
      row[static_cast<std::size_t>(i)] = value * value;
    }
    for (int i = 0; i < width; ++i) {
      for (int j = 0; j < i; ++j) {
        squares(i, j) += row[static_cast<std::size_t>(i)] * row[static_cast<std::size_t>(j)];
      }
    }
  }
  const auto count = static_cast<double>(design.samples);
  double variance = 0.0;
  double signal = 0.0;
  for (int i = 0; i < width; ++i) {
    for (int j = 0; j < i; ++j) {
      const double r = covariance(i, j) * scale[static_cast<std::size_t>(i)] *
                       scale[static_cast<std::size_t>(j)];
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
  if (trials.empty() || trials.front().variables < 1) return Wrong("there is no series");
  for (const SeriesView& view : trials) {
    if (view.variables != trials.front().variables) {
      return Wrong("trials have different numbers of variables");
    }
  }
  if (lag < 1 || order < 1) {
    return Wrong(fmt::format("lag (tau) and order must be 1 or more, not {} and {}", lag, order));
  }
  if (WidthOf(trials, order) > kMostWidth) {
    return Wrong(
        fmt::format("{} variables of {} past and one present value each are {} columns, and {} can "
                    "be measured; take a lower order, or fewer variables",
                    trials.front().variables, order, WidthOf(trials, order), kMostWidth));
  }
  return {};
}

}  // namespace

Result<Estimate> EstimateModel(std::span<const SeriesView> trials, const EstimateOptions& options) {
  if (auto checked = CheckShape(trials, options.lag, options.order); !checked) {
    return std::unexpected(checked.error());
  }
  if (auto checked = CheckNumbers(trials); !checked) return std::unexpected(checked.error());
  const auto width = static_cast<int>(WidthOf(trials, options.order));
  const std::int64_t samples = SamplesOf(trials, options.lag, options.order);
  const bool shrinks = options.shrinkage.kind != Shrinkage::Kind::kNone;
  const std::int64_t least = shrinks ? 3 : width + 2;
  if (samples < least) {
    return Wrong(fmt::format(
        "too short: {} pairs of past and present, and {} variables of {} past and one present "
        "value each take {} at least; give more rows, fewer variables{}",
        samples, trials.front().variables, options.order, least,
        shrinks ? "" : ", or --shrinkage"));
  }
  if (auto checked = CheckVariation(trials); !checked) return std::unexpected(checked.error());
  const std::vector<int> exponents = ExponentsOf(trials);
  const Design design = MakeDesign(trials, options.lag, options.order, exponents);
  Matrix covariance = CovarianceOf(design);
  double amount = 0.0;
  if (options.shrinkage.kind == Shrinkage::Kind::kAmount) amount = options.shrinkage.amount;
  if (options.shrinkage.kind == Shrinkage::Kind::kAutomatic) {
    amount = AutomaticShrinkage(design, covariance);
  }
  if (!(amount >= 0.0 && amount <= 1.0)) {
    return Wrong(fmt::format("shrinkage is 0 to 1, not {}", amount));
  }
  for (int i = 0; i < width; ++i) {
    for (int j = 0; j < width; ++j) {
      if (i != j) covariance(i, j) *= 1.0 - amount;
    }
  }
  std::vector<double> log_scales;
  for (const int exponent : exponents) {
    log_scales.insert(log_scales.end(), static_cast<std::size_t>(options.order) + 1,
                      exponent * std::numbers::ln2);
  }
  auto model = GaussianModel::FromJoint(covariance, options.order, log_scales);
  if (!model) return std::unexpected(model.error());
  return Estimate{.model = std::move(*model), .samples = samples, .shrinkage = amount};
}

Result<Estimate> EstimateModel(const SeriesView& series, const EstimateOptions& options) {
  return EstimateModel(std::span(&series, 1), options);
}

Result<int> BestOrder(std::span<const SeriesView> trials, int lag, int most,
                      OrderCriterion criterion) {
  if (auto checked = CheckShape(trials, lag, most); !checked) {
    return std::unexpected(checked.error());
  }
  const std::int64_t width = std::int64_t{trials.front().variables} * (std::int64_t{most} + 1);
  if (SamplesOf(trials, lag, most) < width + 2) {
    return Wrong(fmt::format(
        "too short to choose an order up to {}: that takes {} pairs of past and present, all the "
        "same rows, and there are {}; give a smaller --max-order, more rows or fewer variables",
        most, width + 2, SamplesOf(trials, lag, most)));
  }
  // The model of the longest order holds those of all shorter ones, estimated on the same rows.
  const auto longest = EstimateModel(trials, {.lag = lag, .order = most, .shrinkage = {}});
  if (!longest) return std::unexpected(longest.error());
  const int variables = trials.front().variables;
  const auto samples = static_cast<double>(longest->samples);
  int best = 1;
  double least = HUGE_VAL;
  for (int order = 1; order <= most; ++order) {
    std::vector<int> past;
    for (int i = 0; i < variables; ++i) {
      for (int k = 0; k < order; ++k) past.push_back(i * (most + 1) + k);
    }
    std::vector<int> both = past;
    for (int i = 0; i < variables; ++i) both.push_back(i * (most + 1) + most);
    const double residual =
        longest->model.LogDeterminant(both) - longest->model.LogDeterminant(past);
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
