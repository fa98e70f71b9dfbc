#include "runner/decide/scalability.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "runner/decide/rate_text.h"

namespace reveza::runner {
namespace {

constexpr double kNothing = 1e-9;
constexpr double kOff = 0.05;         // a fit that is off by less is good,
constexpr double kOffAtMost = 0.15;   // or by less than this
constexpr double kExplained = 0.8;    // where it explains so much of what differs
constexpr double kFarPeak = 2;        // times the most that was allowed: not in sight
constexpr double kLeastSaid = 0.001;  // no measurement is better
constexpr double kQueue = 0.005;      // less is not worth a word

// N / X = a + b (N - 1) + c N (N - 1): linear, with a = 1 / lambda, b = sigma a, c = kappa a.
using Terms = std::array<double, 3>;

Terms TermsAt(double workers) { return {1, workers - 1, workers * (workers - 1)}; }

// Solves the normal equations for those terms that are `used`; the others are 0. Nothing when they
// do not determine it.
std::optional<Terms> Solve(std::span<const ScalabilityPoint> points,
                           const std::array<bool, 3>& used) {
  std::array<std::array<double, 4>, 3> rows{};
  for (const ScalabilityPoint& point : points) {
    const Terms terms = TermsAt(point.workers);
    const double target = point.workers / point.rate;
    const double weight = point.weight / (target * target);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) rows[i][j] += weight * terms[i] * terms[j];
      rows[i][3] += weight * terms[i] * target;
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (used[i]) continue;
    rows[i] = {};
    for (auto& row : rows) row[i] = 0;
    rows[i][i] = 1;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t pivot = i;
    for (std::size_t j = i + 1; j < 3; ++j) {
      if (std::abs(rows[j][i]) > std::abs(rows[pivot][i])) pivot = j;
    }
    std::swap(rows[i], rows[pivot]);
    if (std::abs(rows[i][i]) < 1e-300) return std::nullopt;
    for (std::size_t j = 0; j < 3; ++j) {
      if (j == i) continue;
      const double factor = rows[j][i] / rows[i][i];
      for (std::size_t k = 0; k < 4; ++k) rows[j][k] -= factor * rows[i][k];
    }
  }
  return Terms{rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

double ErrorOf(const Scalability& fit, std::span<const ScalabilityPoint> points) {
  double squares = 0;
  double weights = 0;
  for (const ScalabilityPoint& point : points) {
    const double off = fit.At(point.workers) / point.rate - 1;
    squares += point.weight * off * off;
    weights += point.weight;
  }
  return std::sqrt(squares / weights);
}

// By how much rates differ from their mean, as a share of it.
double Spread(std::span<const ScalabilityPoint> points) {
  double weights = 0;
  double sum = 0;
  for (const ScalabilityPoint& point : points) {
    weights += point.weight;
    sum += point.weight * point.rate;
  }
  const double mean = sum / weights;
  double squares = 0;
  for (const ScalabilityPoint& point : points) {
    squares += point.weight * (point.rate / mean - 1) * (point.rate / mean - 1);
  }
  return std::sqrt(squares / weights);
}

std::string Percent(double share) {
  return share < 0.0995 ? fmt::format("{:.2g} %", 100 * share)
                        : fmt::format("{:.0f} %", 100 * share);
}

// "workers queue for 10 % of the work and each pair of them costs 1 % more"
std::string Causes(const Scalability& fit) {
  std::string text;
  if (fit.sigma >= kQueue)
    text = fmt::format("workers queue for {} of the work", Percent(fit.sigma));
  if (fit.kappa < kNothing) return text;
  if (!text.empty()) text += " and ";
  return text + fmt::format("each pair of workers disturbs the others by {}", Percent(fit.kappa));
}

}  // namespace

double Scalability::At(double workers) const {
  return lambda * workers / (1 + sigma * (workers - 1) + kappa * workers * (workers - 1));
}

std::optional<Scalability> FitScalability(std::span<const ScalabilityPoint> points) {
  std::vector<ScalabilityPoint> usable;
  std::set<double> counts;
  for (const ScalabilityPoint& point : points) {
    if (point.workers < 1 || point.rate <= 0 || point.weight <= 0) continue;
    usable.push_back(point);
    counts.insert(point.workers);
  }
  if (counts.size() < kFewestCounts) return std::nullopt;

  std::optional<Scalability> best;
  // What comes out below 0 is 0, and the rest fitted without it.
  constexpr std::array<std::array<bool, 3>, 4> kUsed = {
      {{true, true, true}, {true, true, false}, {true, false, true}, {true, false, false}}};
  for (const auto& used : kUsed) {
    const auto terms = Solve(usable, used);
    if (!terms || (*terms)[0] <= 0 || (*terms)[1] < 0 || (*terms)[2] < 0) continue;
    Scalability fit;
    fit.lambda = 1 / (*terms)[0];
    fit.sigma = (*terms)[1] * fit.lambda;
    fit.kappa = (*terms)[2] * fit.lambda;
    fit.error = ErrorOf(fit, usable);
    if (!best || fit.error < best->error) best = fit;
  }
  if (!best) return std::nullopt;
  if (best->kappa > kNothing) {
    best->peak = std::max(1.0, std::sqrt(std::max(0.0, 1 - best->sigma) / best->kappa));
  }
  const double spread = Spread(usable);
  best->good =
      best->error < kOff ||
      (best->error < kOffAtMost && best->error * best->error < (1 - kExplained) * spread * spread);
  return best;
}

std::string ScalabilityText(const Scalability& fit, unsigned most, std::string_view unit) {
  if (!fit.good) {
    return fmt::format(
        "no law of scaling fits what was measured (off by {}): the machine or the "
        "{} changed meanwhile",
        Percent(fit.error), unit);
  }
  const std::string alone =
      fmt::format("; one alone makes {} (measured within {})", FormatRate(fit.lambda, unit),
                  Percent(std::max(fit.error, kLeastSaid)));
  if (fit.peak && *fit.peak < kFarPeak * most) {
    return fmt::format("peak at {:.0f}, because {}{}", *fit.peak, Causes(fit), alone);
  }
  if (fit.At(most) < 1.1 * fit.lambda) {
    return fmt::format("more workers bring nothing, because {}{}", Causes(fit), alone);
  }
  if (fit.At(most) > 0.9 * fit.lambda * most) {
    return fmt::format("no peak up to {}: {} workers make nearly {} times as much{}", most, most,
                       most, alone);
  }
  return fmt::format("no peak up to {}, but each worker brings less than the last, because {}{}",
                     most, Causes(fit), alone);
}

}  // namespace reveza::runner
