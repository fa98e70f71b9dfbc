#include "datagen/check/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/chi_square.h"

namespace reveza::datagen::check {
Goodness ChiSquare(std::span<const uint64_t> counts, std::span<const uint32_t> weights) {
  constexpr double kLeastExpected = 5;
  const auto count =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
  const auto weight =
      static_cast<double>(std::accumulate(weights.begin(), weights.end(), uint64_t{0}));
  Goodness goodness;
  double cells = 0;
  double rest_expected = 0;
  double rest_seen = 0;
  const auto add = [&](double seen, double expected) {
    goodness.statistic += (seen - expected) * (seen - expected) / expected;
    ++cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = count * weights[i] / weight;
    const auto seen = static_cast<double>(counts[i]);
    if (weights[i] == 0) {
      if (counts[i] != 0) return {.statistic = HUGE_VAL, .degrees = 1, .p = 0};
    } else if (expected < kLeastExpected) {
      rest_expected += expected;
      rest_seen += seen;
    } else {
      add(seen, expected);
    }
  }
  if (rest_expected >= kLeastExpected) add(rest_seen, rest_expected);
  goodness.degrees = std::max(0.0, cells - 1);
  if (goodness.degrees == 0) return {};
  goodness.p = ChiSquareTail(goodness.statistic, goodness.degrees);
  return goodness;
}

Goodness Together(std::span<const Goodness> parts) {
  Goodness sum;
  for (const Goodness& part : parts) {
    sum.statistic += part.statistic;
    sum.degrees += part.degrees;
  }
  sum.p = ChiSquareTail(sum.statistic, sum.degrees);
  return sum;
}

Goodness UniformKs(std::vector<double>& values) {
  constexpr std::size_t kLeast = 20;
  if (values.size() < kLeast) return {};
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto before = static_cast<double>(i);
    most = std::max({most, values[i] - before / count, (before + 1) / count - values[i]});
  }
  const double root = std::sqrt(count);
  const double lambda = (root + 0.12 + 0.11 / root) * most;
  // The series does not converge near 0, where the chance is 1 to all places.
  constexpr double kSurely = 0.2;
  double p = 1;
  if (lambda > kSurely) {
    p = 0;
    for (int k = 1; k <= 100; ++k) {
      p += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * lambda * lambda);
    }
  }
  return {.statistic = most, .degrees = count, .p = std::clamp(p, 0.0, 1.0)};
}

double NormalShare(double deviations) { return std::erfc(-deviations / std::numbers::sqrt2) / 2; }

}  // namespace reveza::datagen::check
