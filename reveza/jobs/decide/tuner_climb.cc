// The hill climb: which number is tried next, and whether it is kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/base/units.h"
#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs {
namespace {

constexpr double kWeakGainErrors = 3;  // required of a gain that is small for the extra workers
constexpr unsigned kMaxRechecks = 2;   // of a trial that looks better
constexpr double kMaxLoss = 0.01;      // tolerated with fewer workers
constexpr double kLeapAgain = 0.6;     // share of the ideal gain from which another leap follows
constexpr double kWeak = 0.25;         // share of the ideal gain below which a gain is weak
constexpr double kMaxLeapLoss = 0.03;  // tolerated when halving
constexpr double kMaxAveraged = 3;     // measurements
constexpr double kVisibleErrors = 2;   // standard errors that the gain of a trial should have
constexpr double kChanged = 0.15;      // relative change that restarts the search
constexpr double kChangedErrors = 4;

// Returns the distance to the neighbour: one, above eight an eighth.
unsigned StepAt(unsigned workers) { return workers <= 8 ? 1 : (workers + 4) / 8; }

// Averages two measurements of the same number, weighted by precision; unweighted if they differ
// significantly, because then there is a trend and its midpoint is wanted.
LogRate Between(const LogRate& first, const LogRate& second) {
  double weight = 0.5;
  if (std::abs(first.value - second.value) < kMinErrors * std::hypot(first.error, second.error)) {
    const double one = 1 / (first.error * first.error);
    weight = one / (one + 1 / (second.error * second.error));
  }
  return {weight * first.value + (1 - weight) * second.value,
          std::hypot(weight * first.error, (1 - weight) * second.error)};
}

Throughput Middle(const Throughput& first, Throughput second) {
  second.counted = Between(first.counted, second.counted);
  second.little = Between(first.little, second.little);
  return second;
}

// Combines a repeated measurement with the earlier ones; precision grows up to that of three,
// because the machine may change slowly.
Throughput Refine(const Throughput& before, const Throughput& seen) {
  Throughput all = Middle(before, seen);
  const double max_shrink = std::sqrt(kMaxAveraged);
  all.counted.error = std::max(all.counted.error, seen.counted.error / max_shrink);
  all.little.error = std::max(all.little.error, seen.little.error / max_shrink);
  return all;
}

bool IsBetter(const LogRate& gain) {
  return gain.value > std::max(kMinErrors * gain.error, kMinGain);
}

// Returns whether the gain is small for that many more workers.
bool IsWeak(const LogRate& gain, const Throughput& from, const Throughput& to) {
  return gain.value < kWeak * std::log(1.0 * to.workers / from.workers);
}

// Fewer workers need less memory, so they need not be better.
bool IsAsGood(const LogRate& gain) { return gain.value - gain.error > -kMaxLoss; }

}  // namespace

unsigned InitialWorkers(double cores) {
  return std::max(1u, static_cast<unsigned>(std::lround(std::min(cores, 1e6) / 2)));
}

// Returns the minimum gain, as a logarithm, for which a leap from the best number is kept.
double Tuner::MinLeapGain(unsigned workers) const {
  if (workers < base_workers_) return -kMaxLeapLoss;
  return kWeak * std::log(1.0 * workers / base_workers_);
}

void Tuner::JudgeTrial(nanoseconds now, const Throughput& seen) {
  const Throughput tried = tried_.workers == seen.workers ? Middle(tried_, seen) : seen;
  const LogRate gain = GainBetween(base_, tried);
  const bool up = tried.workers > base_workers_;
  bool accepted = false;
  if (leap_) {
    accepted = gain.value > MinLeapGain(tried.workers) && (!up || gain.value > gain.error);
  } else {
    accepted = (!up && IsAsGood(gain)) || (IsBetter(gain) && !IsWeak(gain, base_, tried));
  }
  if (accepted) return Accept(now, tried, base_, gain.value);
  std::string_view verdict = "no clear gain, ";
  if (IsBetter(gain)) verdict = "unconfirmed, ";
  if (gain.value < -kMinErrors * gain.error) verdict = "";
  tried_ = tried;
  LogDecision(now, workers_,
              fmt::format("{}: {}: {}back to {}", Plural(workers_, "worker"),
                          Comparison(base_, gain.value), verdict, base_workers_));
  GoBack(now, Phase::kRecheck);
}

void Tuner::GoBack(nanoseconds now, Phase phase) {
  Move(now, base_workers_, phase);
  log_.SetLastAfter(workers_);
}

void Tuner::JudgeAfterRecheck(nanoseconds now, const Throughput& again) {
  const Throughput middle = Middle(base_, again);
  const Throughput tried = tried_;
  const LogRate gain = GainBetween(middle, tried);
  if (IsBetter(gain) &&
      (!IsWeak(gain, middle, tried) || gain.value > kWeakGainErrors * gain.error)) {
    Move(now, tried.workers, Phase::kTrial);
    return Accept(now, tried, middle, gain.value);
  }
  if (gain.value > std::max(gain.error, kMinGain) && rechecks_ < kMaxRechecks) {
    ++rechecks_;
    base_ = middle;
    Move(now, tried.workers, Phase::kTrial);
    return LogDecision(now, base_workers_,
                       fmt::format("{}: tried once more", Plural(workers_, "worker")));
  }
  base_ = again;
  const bool near =
      tried.workers == NextUp().value_or(0) || tried.workers == NextDown().value_or(0);
  const bool up = tried.workers > base_workers_;
  if (near) (up ? up_failed_ : down_failed_) = true;
  if (leap_) (up ? leap_up_ : leap_down_) = false;
  TryNext(now);
}

void Tuner::Accept(nanoseconds now, const Throughput& tried, const Throughput& before,
                   double gain) {
  const unsigned old = base_workers_;
  LogDecision(
      now, old,
      fmt::format("{}: {}: kept", Plural(tried.workers, "worker"), Comparison(before, gain)));
  const bool up = tried.workers > old;
  const unsigned far = up ? tried.workers - old : old - tried.workers;
  const bool leap = far > StepAt(old);  // numbers in between were not measured
  base_workers_ = tried.workers;
  base_ = tried;
  failed_trials_ = 0;
  trial_scale_ = 1;
  if (leap_) {
    // Where it came from is worse.
    (up ? leap_down_ : leap_up_) = false;
    if (up) leap_up_ = gain > kLeapAgain * std::log(1.0 * tried.workers / old);
  }
  up_failed_ = !up && !leap;
  down_failed_ = up && !leap;
  prefer_up_ = up;
  TryNext(now);
}

void Tuner::TryNext(nanoseconds now) {
  tried_ = {};
  rechecks_ = 0;
  const unsigned ceiling = MaxAllowed();
  std::optional<unsigned> next;
  leap_ = true;
  if (leap_up_ && base_workers_ < ceiling) {
    next = std::min(2 * base_workers_, ceiling);
  } else if (leap_down_ && base_workers_ > options_.min) {
    next = std::max(base_workers_ / 2, options_.min);
  } else {
    leap_ = leap_up_ = leap_down_ = false;
    const auto up = up_failed_ ? std::nullopt : NextUp();
    const auto down = down_failed_ ? std::nullopt : NextDown();
    next = prefer_up_ ? (up ? up : down) : (down ? down : up);
  }
  if (!next) return Settle(now);
  const unsigned before = workers_;
  Move(now, *next, Phase::kTrial);
  LogDecision(now, before, fmt::format("{}: tried", Plural(*next, "worker")));
}

void Tuner::Settle(nanoseconds now) {
  const unsigned before = workers_;
  Move(now, base_workers_, Phase::kSettled);
  measurements_until_trial_ = std::uniform_int_distribution<unsigned>(2, 5)(random_)
                              << std::min(failed_trials_, 4u);
  LogDecision(now, before,
              fmt::format("{}: {}, nothing better beside it: stay", Plural(base_workers_, "worker"),
                          FormatRate(base_.rate / typical_.mean())));
}

void Tuner::CheckSettled(nanoseconds now, const Throughput& seen) {
  const LogRate change = GainBetween(base_, seen);
  const bool other = std::abs(change.value) > std::max(kChanged, kChangedErrors * change.error);
  const std::string text = Comparison(base_, change.value);
  // A single outlier may be chance.
  change_suspected_ = other && !change_suspected_;
  if (change_suspected_) return Move(now, workers_, Phase::kSettled);
  base_ = other ? seen : Refine(base_, seen);
  if (!other && measurements_until_trial_ > 0) {
    --measurements_until_trial_;
    return Move(now, workers_, Phase::kSettled);
  }
  if (other) {
    LogDecision(now, workers_,
                fmt::format("{}: {} before: look again", Plural(workers_, "worker"), text));
    failed_trials_ = 0;
  } else {
    ++failed_trials_;
  }
  up_failed_ = down_failed_ = false;
  // The gain of a small step may be too small to detect.
  trial_scale_ = 1 + failed_trials_ % 2;
  prefer_up_ = (random_() & 1) == 0;
  TryNext(now);
}

unsigned Tuner::MaxAllowed() const {
  const auto failed_at = guard_.failed_at();
  if (!failed_at) return options_.max;
  return std::clamp(*failed_at - 1, options_.min, options_.max);
}

// Returns how many workers more or fewer are tried: more if steps vary a lot, because then the
// effect of a single worker could not be detected.
unsigned Tuner::TrialDistance() const {
  const unsigned far = trial_scale_ * StepAt(base_workers_);
  if (base_.workers == 0) return far;
  const double seen = std::expm1(std::min(kVisibleErrors * base_.little.error, 1.0));
  const auto visible = static_cast<unsigned>(std::lround(seen * base_workers_));
  return std::max(far, std::min(visible, base_workers_ / 2));
}

std::optional<unsigned> Tuner::NextUp() const {
  const unsigned up = std::min(base_workers_ + TrialDistance(), MaxAllowed());
  if (up <= base_workers_) return std::nullopt;
  return up;
}

std::optional<unsigned> Tuner::NextDown() const {
  if (base_workers_ <= options_.min) return std::nullopt;
  return std::max(options_.min, base_workers_ - std::min(TrialDistance(), base_workers_));
}

}  // namespace reveza::jobs
