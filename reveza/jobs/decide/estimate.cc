#include "reveza/jobs/decide/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace reveza::jobs {
namespace {

constexpr std::size_t kMaxSamples = 64;
constexpr std::uint64_t kMinFinished = 3;  // steps, for any estimate
constexpr double kMinSigma = 0.05;
constexpr double kMaxSigma = 1.5;
constexpr double kP90 = 1.2816;  // standard deviations
// Of the logarithm of the rate: machines and steps change while a job runs.
constexpr double kRateSigma = 0.12;

double NormalCdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// Returns the inverse of NormalCdf (bisection: a few microseconds, and no table of constants).
double NormalQuantile(double probability) {
  double low = -6;
  double high = 6;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (NormalCdf(middle) < probability ? low : high) = middle;
  }
  return low;
}

// A duration that has ended, or is longer than this.
struct Observation {
  double log = 0;
  bool ended = true;
};

struct Fit {
  double mu = 0;
  double sigma = 0;
};

// Fits a normal distribution to logarithms of which some are only known to be larger: a line
// through the quantiles, whose probabilities the product-limit estimate gives (E. Kaplan, P. Meier
// 1958).
Fit FitCensored(std::vector<Observation> seen) {
  std::ranges::sort(seen, {}, &Observation::log);
  double at_risk = static_cast<double>(seen.size());
  double survival = 1;
  double n = 0;
  double z = 0;
  double y = 0;
  double zz = 0;
  double zy = 0;
  for (const Observation& one : seen) {
    if (one.ended) {
      const double after = survival * (1 - 1 / at_risk);
      const double quantile = NormalQuantile(1 - (survival + after) / 2);
      survival = after;
      ++n;
      z += quantile;
      y += one.log;
      zz += quantile * quantile;
      zy += quantile * one.log;
    }
    --at_risk;
  }
  const double spread = zz - z * z / n;
  const double slope = spread > 0 ? (zy - z * y / n) / spread : 0;
  Fit fit;
  fit.sigma = std::clamp(slope, kMinSigma, kMaxSigma);
  fit.mu = y / n - fit.sigma * z / n;
  return fit;
}

std::chrono::nanoseconds Nanoseconds(double seconds) {
  constexpr double kMaxSeconds = 100.0 * 365 * 24 * 3600;
  return std::chrono::nanoseconds(std::llround(std::clamp(seconds, 0.0, kMaxSeconds) * 1e9));
}

}  // namespace

void Estimator::OnStepFinished(std::chrono::nanoseconds duration, unsigned workers,
                               WorkClass step_class) {
  auto& samples = classes_[step_class];
  // Drops the oldest half at once, for amortised constant time.
  if (samples.size() >= 2 * kMaxSamples) {
    samples.erase(samples.begin(), samples.end() - kMaxSamples);
  }
  const double seconds = std::max(1e-6, Seconds(duration));
  samples.push_back({seconds, seconds / std::max(1u, workers)});
  ++finished_;
}

double Estimator::Model::Mean() const { return std::exp(mu + sigma * sigma / 2); }

double Estimator::Model::Quantile(double probability, double elapsed) const {
  double exceeded = 0;
  if (elapsed > 0) exceeded = NormalCdf((std::log(elapsed) - mu) / sigma);
  // Of a step older than any is likely to get, a tenth may remain.
  if (exceeded > 0.999) return 1.1 * elapsed;
  return std::exp(mu + sigma * NormalQuantile(exceeded + probability * (1 - exceeded)));
}

Estimator::Model Estimator::ModelOf(WorkClass step_class, std::span<const InFlight> running) const {
  const bool known = classes_.contains(step_class);
  std::vector<Observation> seen;
  double seconds = 0;
  double share = 0;
  for (const auto& [name, samples] : classes_) {
    if (known && name != step_class) continue;
    const std::size_t count = std::min(samples.size(), kMaxSamples);
    for (auto sample = samples.end() - static_cast<std::ptrdiff_t>(count); sample != samples.end();
         ++sample) {
      seen.push_back({std::log(sample->seconds), true});
      seconds += sample->seconds;
      share += sample->share;
    }
  }
  Model model;
  model.samples = static_cast<double>(seen.size());
  for (const InFlight& step : running) {
    if (step.step_class == step_class && step.elapsed.count() > 0) {
      seen.push_back({std::log(Seconds(step.elapsed)), false});
    }
  }
  const Fit fit = FitCensored(std::move(seen));
  model.mu = fit.mu;
  model.sigma = fit.sigma;
  model.share = model.Mean() * share / seconds;
  return model;
}

// Returns the median, or the 90th percentile, of the time until all steps of a group have ended.
double Estimator::GroupSeconds(const PendingGroup& group, bool p90) const {
  const double workers = std::max(1u, group.workers);
  std::map<WorkClass, Model> models;
  const auto model = [&](WorkClass step_class) -> const Model& {
    const auto found = models.find(step_class);
    if (found != models.end()) return found->second;
    return models.emplace(step_class, ModelOf(step_class, group.running)).first->second;
  };
  const double probability = p90 ? 0.9 : 0.5;
  double left = 0;
  double work = 0;      // seconds between ends, of what is left
  double variance = 0;  // of the logarithm of `work`, times its square
  double longest = 0;   // of the last steps
  for (const PendingWork& pending : group.left) {
    if (pending.steps == 0) continue;
    const Model& one = model(pending.step_class);
    const auto steps = static_cast<double>(pending.steps);
    const double part = steps * one.share;
    left += steps;
    work += part;
    variance += part * part * one.sigma * one.sigma * (1 / one.samples + 1 / steps);
    const double last = std::min(steps, workers);
    longest = std::max(longest, one.Quantile(std::pow(probability, 1 / last), 0));
  }
  const auto in_flight = static_cast<double>(group.running.size());
  double running = 0;
  for (const InFlight& step : group.running) {
    const Model& one = model(step.step_class);
    const double elapsed = Seconds(step.elapsed);
    const double end = one.Quantile(std::pow(probability, 1 / in_flight), elapsed) - elapsed;
    if (left == 0) longest = std::max(longest, end);
    running += std::max(0.0, one.Quantile(0.5, elapsed) - elapsed) * one.share / one.Mean();
  }
  if (left == 0) return longest;
  // The last steps start before what is left has ended.
  const double error = std::sqrt(variance / (work * work) + kRateSigma * kRateSigma);
  const double all = (work + running) * (p90 ? std::exp(kP90 * error) : 1);
  return std::max(all, longest) + (p90 ? 0.5 : 0.25) * std::min(longest, all);
}

std::optional<RemainingTime> Estimator::Remaining(std::span<const PendingGroup> groups) const {
  if (finished_ < kMinFinished) return std::nullopt;
  struct Phase {
    double p50 = 0;
    double p90 = 0;
  };
  std::map<unsigned, Phase> phases;
  for (const PendingGroup& group : groups) {
    Phase& phase = phases[group.phase];
    phase.p50 = std::max(phase.p50, GroupSeconds(group, false));
    phase.p90 = std::max(phase.p90, GroupSeconds(group, true));
  }
  Phase all;
  for (const auto& [number, phase] : phases) {
    all.p50 += phase.p50;
    all.p90 += phase.p90;
  }
  return RemainingTime{Nanoseconds(all.p50), Nanoseconds(std::max(all.p50, all.p90))};
}

}  // namespace reveza::jobs
