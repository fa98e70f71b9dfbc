#include "fraudgen/check/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "common/base/chi_square.h"

namespace reveza::fraudgen::check {

Goodness ChiSquare(std::span<const uint64_t> counts, std::span<const uint32_t> weights) {
  constexpr double kMinExpected = 5;
  const auto count =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  const auto weight =
      static_cast<double>(std::accumulate(weights.begin(), weights.end(), uint64_t{0}));
  Goodness goodness;
  double cells = 0;
  double rest_expected = 0;
  double rest_observed = 0;
  const auto add = [&](double observed, double expected) {
    goodness.statistic += (observed - expected) * (observed - expected) / expected;
    ++cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = count * weights[i] / weight;
    const auto observed = static_cast<double>(counts[i]);
    if (weights[i] == 0) {
      if (counts[i] != 0) return {.statistic = HUGE_VAL, .degrees = 1, .p = 0};
    } else if (expected < kMinExpected) {
      rest_expected += expected;
      rest_observed += observed;
    } else {
      add(observed, expected);
    }
  }
  if (rest_expected >= kMinExpected) add(rest_observed, rest_expected);
  goodness.degrees = std::max(0.0, cells - 1);
  if (goodness.degrees == 0) return {};
  goodness.p = ChiSquareTail(goodness.statistic, goodness.degrees);
  return goodness;
}

Goodness Combine(std::span<const Goodness> parts) {
  Goodness sum;
  for (const Goodness& part : parts) {
    sum.statistic += part.statistic;
    sum.degrees += part.degrees;
  }
  sum.p = ChiSquareTail(sum.statistic, sum.degrees);
  return sum;
}

Goodness UniformKs(std::vector<double>& values) {
  constexpr std::size_t kMinValues = 20;
  if (values.size() < kMinValues) return {};
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto before = static_cast<double>(i);
    distance = std::max({distance, values[i] - before / count, (before + 1) / count - values[i]});
  }
  const double root = std::sqrt(count);
  const double lambda = (root + 0.12 + 0.11 / root) * distance;
  // The series does not converge near 0, where p is 1.
  constexpr double kMinLambda = 0.2;
  double p = 1;
  if (lambda > kMinLambda) {
    p = 0;
    for (int k = 1; k <= 100; ++k) {
      p += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * lambda * lambda);
    }
  }
  return {.statistic = distance, .degrees = count, .p = std::clamp(p, 0.0, 1.0)};
}

double NormalShare(double deviations) { return std::erfc(-deviations / std::numbers::sqrt2) / 2; }

}  // namespace reveza::fraudgen::check
