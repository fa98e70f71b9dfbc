#include "reveza/jobs/report/tuning_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "common/base/units.h"
#include "reveza/jobs/decide/throughput.h"

namespace reveza::jobs {
namespace {

constexpr double kEpsilon = 1e-9;
constexpr double kGoodError = 0.05;          // a fit below this error is good,
constexpr double kMaxError = 0.15;           // or below this error
constexpr double kMinExplained = 0.8;        // if it explains this share of the variance
constexpr double kFarPeak = 2;               // relative to the allowed maximum: not reported beyond
constexpr double kMinReportedError = 0.001;  // no measurement is more precise
constexpr double kMinReportedSigma = 0.005;  // smaller values are not mentioned

// N / X = a + b (N - 1) + c N (N - 1): linear, with a = 1 / lambda, b = sigma a, c = kappa a.
using Terms = std::array<double, 3>;

Terms TermsAt(double workers) { return {1, workers - 1, workers * (workers - 1)}; }

// Solves the normal equations for the terms that are `used`; the others are 0. Empty if singular.
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
    const double error = fit.At(point.workers) / point.rate - 1;
    squares += point.weight * error * error;
    weights += point.weight;
  }
  return std::sqrt(squares / weights);
}

// Returns the relative standard deviation of the rates.
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

// Formats "workers queue for 10 % of the work and each pair of workers disturbs the others by 1 %".
std::string Causes(const Scalability& fit) {
  std::string text;
  if (fit.sigma >= kMinReportedSigma)
    text = fmt::format("workers queue for {} of the work", Percent(fit.sigma));
  if (fit.kappa < kEpsilon) return text;
  if (!text.empty()) text += " and ";
  return text + fmt::format("each pair of workers disturbs the others by {}", Percent(fit.kappa));
}

}  // namespace

std::string TuningTable(std::span<const TunerRow> rows, unsigned workers, unsigned max_workers) {
  if (rows.empty()) return {};
  // The same unit in all rows.
  const RateUnit time = RateUnitFor(std::ranges::max(rows, {}, &TunerRow::rate).rate);
  std::string text = fmt::format("  workers {:>12} {:>8} {:>10}\n",
                                 fmt::format("steps/{}", time.name), "gain", "memory");
  std::vector<ScalabilityPoint> points;
  bool first = true;
  for (const TunerRow& row : rows) {
    const std::string gain = first ? "" : fmt::format("{:+.0f} %", 100 * row.gain);
    text += fmt::format("{} {:>7} {:>12.3g} {:>8} {:>10}\n", row.workers == workers ? '>' : ' ',
                        row.workers, row.rate * time.seconds, gain,
                        row.memory ? FormatBytes(*row.memory) : "-");
    points.push_back(
        {.workers = 1.0 * row.workers, .rate = row.rate, .weight = static_cast<double>(row.steps)});
    first = false;
  }
  if (const auto fit = FitScalability(points)) text += ScalabilityText(*fit, max_workers) + "\n";
  return text;
}

std::string SingleCountText(const TunerRow& row, std::string_view reason) {
  return fmt::format("only one number of workers was measured: {} ({}), because {}\n", row.workers,
                     FormatRate(row.rate), reason);
}

std::string TuningLog(std::span<const Decision> log, std::chrono::nanoseconds start) {
  std::string text;
  for (const Decision& decision : log) {
    text += fmt::format("{:>12}  {}\n", FormatDuration(decision.at - start), decision.text);
  }
  return text;
}

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
  if (counts.size() < kMinScalabilityPoints) return std::nullopt;

  std::optional<Scalability> best;
  // Negative terms are set to 0 and the others fitted without them.
  constexpr std::array<std::array<bool, 3>, 4> kModels = {
      {{true, true, true}, {true, true, false}, {true, false, true}, {true, false, false}}};
  for (const auto& used : kModels) {
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
  if (best->kappa > kEpsilon) {
    best->peak = std::max(1.0, std::sqrt(std::max(0.0, 1 - best->sigma) / best->kappa));
  }
  const double spread = Spread(usable);
  best->good = best->error < kGoodError ||
               (best->error < kMaxError &&
                best->error * best->error < (1 - kMinExplained) * spread * spread);
  return best;
}

std::string ScalabilityText(const Scalability& fit, unsigned max_workers) {
  if (!fit.good) {
    return fmt::format(
        "no law of scaling fits what was measured (error by {}): the machine or the "
        "steps changed meanwhile",
        Percent(fit.error));
  }
  const std::string alone =
      fmt::format("; one alone makes {} (measured within {})", FormatRate(fit.lambda),
                  Percent(std::max(fit.error, kMinReportedError)));
  if (fit.peak && *fit.peak < kFarPeak * max_workers) {
    return fmt::format("peak at {:.0f}, because {}{}", *fit.peak, Causes(fit), alone);
  }
  if (fit.At(max_workers) < 1.1 * fit.lambda) {
    return fmt::format("more workers bring nothing, because {}{}", Causes(fit), alone);
  }
  if (fit.At(max_workers) > 0.9 * fit.lambda * max_workers) {
    return fmt::format("no peak up to {}: {} workers make nearly {} times as much{}", max_workers,
                       max_workers, max_workers, alone);
  }
  return fmt::format("no peak up to {}, but each worker brings less than the last, because {}{}",
                     max_workers, Causes(fit), alone);
}

}  // namespace reveza::jobs
