// Searches by throughput: which number is tried next, and whether it is kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/base/units.h"
#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs {
namespace {

constexpr double kMinErrors = 2;      // of the gain of a number that is kept; or,
constexpr double kMinErrorsUp = 0.5;  // where nothing else tells that more workers are of no use
constexpr double kMaxLoss = 0.05;     // with fewer workers, one standard error included
constexpr double kNear = 1.35;        // ratio of numbers between which none is tried
constexpr double kDown = 0.7;         // the first number below, as a share
constexpr double kFarDown = 0.5;      // the same where more workers were no better
constexpr double kNearlyFull = 0.9;   // share of the cores below which they are filled first
constexpr double kMaxLost = 0.05;     // by a trial, as a share of the remaining steps
constexpr double kMinTrialSteps = 4;
constexpr double kTrialSteps = 1.3;  // for each worker, while a trial lasts
constexpr double kLostUp = 0.15;     // share of them, if more workers are no better
constexpr double kChanged = 0.15;    // relative change that restarts the search
constexpr double kChangedErrors = 4;

unsigned Rounded(double workers) { return static_cast<unsigned>(std::lround(workers)); }

unsigned Between(unsigned low, unsigned high) { return Rounded(std::sqrt(1.0 * low * high)); }

}  // namespace

void Tuner::JudgeTrial(nanoseconds now, const Throughput& seen) {
  const LogRate gain = GainBetween(base_, seen);
  const bool up = seen.workers > base_workers_;
  // If fewer finish as much, there is nothing better above the larger number.
  const bool as_good = !up && gain.value - gain.error > -kMaxLoss;
  const double errors = up ? kMinErrorsUp : kMinErrors;
  if (as_good || gain.value > std::max(errors * gain.error, kMinGain)) {
    worse_[base_.workers] = base_;
    base_workers_ = seen.workers;
    starved_ = up && measurement_ && !measurement_->saturated();
    LogDecision(
        now, base_.workers,
        fmt::format("{}: {}: kept", Plural(seen.workers, "worker"), Comparison(base_, gain.value)));
    base_ = seen;
    return TryNext(now);
  }
  worse_[seen.workers] = seen;
  const bool clear = gain.value < -kMinErrors * gain.error;
  if (up) flat_ = true;
  if (!up && clear) flat_ = false;
  LogDecision(
      now, workers_,
      fmt::format("{}: {}: {}back to {}", Plural(workers_, "worker"), Comparison(base_, gain.value),
                  clear ? "" : "no clear gain, ", base_workers_));
  TryNext(now);
}

// Returns numbers beside the best one, between those that are known to be worse.
std::vector<unsigned> Tuner::Candidates() const {
  const unsigned base = base_workers_;
  std::vector<unsigned> all;
  const auto above = worse_.upper_bound(base);
  const bool has_above = above != worse_.end();
  if (has_above) {
    if (above->first > kNear * base) all.push_back(Between(base, above->first));
  } else if (options_.cores <= 0 && !starved_) {
    all.push_back(std::min(2 * base, MaxAllowed()));
  }
  auto below = worse_.lower_bound(base);
  if (below == worse_.begin()) {
    const unsigned down = Rounded(base * (flat_ || has_above ? kFarDown : kDown));
    all.push_back(std::clamp(down, options_.min, std::max(options_.min, base - 1)));
  } else if (base > kNear * (--below)->first) {
    all.push_back(Between(below->first, base));
  }
  std::erase_if(all, [&](unsigned one) { return one == base || worse_.contains(one); });
  return all;
}

// Returns whether the work that a fruitless trial loses is small beside what is left.
bool Tuner::IsWorthTrying(unsigned workers) const {
  const double steps = std::max(kMinTrialSteps, kTrialSteps * workers);
  double lost = kLostUp * steps;
  if (workers < base_workers_ && !flat_) lost = steps * (1.0 * base_workers_ / workers - 1);
  return lost < kMaxLost * static_cast<double>(remaining_);
}

// Returns whether the cores are not full yet.
bool Tuner::IsFilling() const {
  return options_.cores > 0 && !flat_ && worse_.empty() && workers_ < MaxAllowed() &&
         base_.busy < kNearlyFull * options_.cores;
}

void Tuner::TryNext(nanoseconds now) {
  if (IsFilling()) return Settle(now);
  for (const unsigned next : Candidates()) {
    if (!IsWorthTrying(next)) continue;
    const unsigned before = workers_;
    Move(now, next, Phase::kTrial);
    return LogDecision(now, before, fmt::format("{}: tried", Plural(next, "worker")));
  }
  Settle(now);
}

void Tuner::Settle(nanoseconds now) {
  const unsigned before = workers_;
  Move(now, base_workers_, Phase::kSettled);
  LogDecision(now, before,
              fmt::format("{}: {}: stay", Plural(base_workers_, "worker"),
                          FormatRate(base_.rate / typical_.mean())));
}

void Tuner::CheckSettled(nanoseconds now, const Throughput& seen) {
  const LogRate change = GainBetween(base_, seen);
  const bool other = std::abs(change.value) > std::max(kChanged, kChangedErrors * change.error);
  const std::string text = Comparison(base_, change.value);
  // A single outlier may be chance.
  change_suspected_ = other && !change_suspected_;
  if (change_suspected_) return Move(now, workers_, Phase::kSettled);
  base_ = seen;
  if (!other) return Move(now, workers_, Phase::kSettled);
  LogDecision(now, workers_,
              fmt::format("{}: {} before: look again", Plural(workers_, "worker"), text));
  worse_.clear();
  flat_ = false;
  TryNext(now);
}

// Formats "5.94 steps/s, 3 gave 6.11". The first figure is derived from the second and the gain, so
// that both are measured the same way.
std::string Tuner::Comparison(const Throughput& before, double gain) const {
  const double rate = before.rate / typical_.mean();
  const RateUnit unit = RateUnitFor(rate);
  return fmt::format("{:.3g} steps/{}, {} gave {:.3g}", rate * std::exp(gain) * unit.seconds,
                     unit.name, before.workers, rate * unit.seconds);
}

}  // namespace reveza::jobs
