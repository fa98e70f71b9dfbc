// Climbing: what is tried next, and what becomes of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/decide/tuner.h"

namespace reveza::runner {
namespace {

constexpr double kErrors = 2;        // what is better is so by more than so many standard errors,
constexpr double kSureErrors = 3;    // where it brings little, so many
constexpr double kLeastGain = 0.02;  // and by more than this
constexpr unsigned kMostRounds = 2;  // of measuring both again, while it looks better
constexpr double kNoLoss = 0.01;
constexpr double kPaysToLeap = 0.6;  // of the gain that as many more workers could bring
constexpr double kWeak = 0.25;       // of it: what a leap brings at least
constexpr double kLeapLoss = 0.03;   // that half the workers may cost
constexpr double kRemembered = 3;    // measurements
constexpr double kVisible = 2;       // standard errors of one measurement, that a try should bring
constexpr double kChanged = 0.15;    // a throughput that differs so much is another one
constexpr double kChangedErrors = 4;

// By one, above eight by an eighth.
unsigned StepAt(unsigned workers) { return workers <= 8 ? 1 : (workers + 4) / 8; }

// Of two measurements of the same: the surer weighs more, unless there is a trend between them, of
// which the middle is wanted.
LogRate Between(const LogRate& first, const LogRate& second) {
  double weight = 0.5;
  if (std::abs(first.value - second.value) < kErrors * std::hypot(first.error, second.error)) {
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

// What is known of a number when it was measured again: of three measurements at most, because the
// machine may change slowly.
Throughput Surer(const Throughput& before, const Throughput& seen) {
  Throughput all = Middle(before, seen);
  const double least = std::sqrt(kRemembered);
  all.counted.error = std::max(all.counted.error, seen.counted.error / least);
  all.little.error = std::max(all.little.error, seen.little.error / least);
  return all;
}

bool IsBetter(const LogRate& gain) {
  return gain.value > std::max(kErrors * gain.error, kLeastGain);
}

// So many more workers should bring more.
bool IsWeak(const LogRate& gain, const Throughput& from, const Throughput& to) {
  return gain.value < kWeak * std::log(1.0 * to.workers / from.workers);
}

// Fewer workers need less memory: they need not be better.
bool IsAsGood(const LogRate& gain) { return gain.value - gain.error > -kNoLoss; }

}  // namespace

unsigned FirstWorkers(double cores) {
  return std::max(1u, static_cast<unsigned>(std::lround(std::min(cores, 1e6) / 2)));
}

// The gain, as a logarithm, from which on a leap from the best number is worth it.
double Tuner::LeastLeapGain(unsigned workers) const {
  if (workers < base_workers_) return -kLeapLoss;
  return kWeak * std::log(1.0 * workers / base_workers_);
}

void Tuner::Judge(nanoseconds now, const Throughput& seen) {
  const Throughput tried = tried_.workers == seen.workers ? Middle(tried_, seen) : seen;
  const LogRate gain = GainBetween(base_, tried);
  const bool up = tried.workers > base_workers_;
  bool accepted = false;
  if (leap_) {
    accepted = gain.value > LeastLeapGain(tried.workers) && (!up || gain.value > gain.error);
  } else {
    accepted = (!up && IsAsGood(gain)) || (IsBetter(gain) && !IsWeak(gain, base_, tried));
  }
  if (accepted) return Accept(now, tried, base_, gain.value);
  std::string_view verdict = "no clear gain, ";
  if (IsBetter(gain)) verdict = "to be sure, ";
  if (gain.value < -kErrors * gain.error) verdict = "";
  tried_ = tried;
  Say(now, workers_,
      fmt::format("{}: {}: {}back to {}", WorkersText(workers_), Comparison(base_, gain.value),
                  verdict, base_workers_));
  GoBack(now, Phase::kAgain);
}

void Tuner::GoBack(nanoseconds now, Phase phase) {
  Move(now, base_workers_, phase);
  if (!log_.empty()) log_.back().after = workers_;
}

void Tuner::JudgeAgain(nanoseconds now, const Throughput& again) {
  const Throughput middle = Middle(base_, again);
  const Throughput tried = tried_;
  const LogRate gain = GainBetween(middle, tried);
  if (IsBetter(gain) && (!IsWeak(gain, middle, tried) || gain.value > kSureErrors * gain.error)) {
    Move(now, tried.workers, Phase::kTry);
    return Accept(now, tried, middle, gain.value);
  }
  if (gain.value > std::max(gain.error, kLeastGain) && rounds_ < kMostRounds) {
    ++rounds_;
    base_ = middle;
    Move(now, tried.workers, Phase::kTry);
    return Say(now, base_workers_, fmt::format("{}: tried once more", WorkersText(workers_)));
  }
  base_ = again;
  const bool near = tried.workers == Up().value_or(0) || tried.workers == Down().value_or(0);
  const bool up = tried.workers > base_workers_;
  if (near) (up ? up_failed_ : down_failed_) = true;
  if (leap_) (up ? leap_up_ : leap_down_) = false;
  TryNext(now);
}

void Tuner::Accept(nanoseconds now, const Throughput& tried, const Throughput& before,
                   double gain) {
  const unsigned old = base_workers_;
  Say(now, old, fmt::format("{}: {}: kept", WorkersText(tried.workers), Comparison(before, gain)));
  const bool up = tried.workers > old;
  const unsigned far = up ? tried.workers - old : old - tried.workers;
  const bool leap = far > StepAt(old);  // what is between was not measured
  base_workers_ = tried.workers;
  base_ = tried;
  fruitless_ = 0;
  reach_ = 1;
  if (leap_) {
    // From where it came nothing is to be had.
    (up ? leap_down_ : leap_up_) = false;
    if (up) leap_up_ = gain > kPaysToLeap * std::log(1.0 * tried.workers / old);
  }
  up_failed_ = !up && !leap;
  down_failed_ = up && !leap;
  prefer_up_ = up;
  TryNext(now);
}

void Tuner::TryNext(nanoseconds now) {
  tried_ = {};
  rounds_ = 0;
  const unsigned ceiling = Ceiling();
  std::optional<unsigned> next;
  leap_ = true;
  if (leap_up_ && base_workers_ < ceiling) {
    next = std::min(2 * base_workers_, ceiling);
  } else if (leap_down_ && base_workers_ > options_.least) {
    next = std::max(base_workers_ / 2, options_.least);
  } else {
    leap_ = leap_up_ = leap_down_ = false;
    const auto up = up_failed_ ? std::nullopt : Up();
    const auto down = down_failed_ ? std::nullopt : Down();
    next = prefer_up_ ? (up ? up : down) : (down ? down : up);
  }
  if (!next) return Settle(now);
  const unsigned before = workers_;
  Move(now, *next, Phase::kTry);
  Say(now, before, fmt::format("{}: tried", WorkersText(*next)));
}

void Tuner::Settle(nanoseconds now) {
  const unsigned before = workers_;
  Move(now, base_workers_, Phase::kSettled);
  wait_ = std::uniform_int_distribution<unsigned>(2, 5)(random_) << std::min(fruitless_, 4u);
  Say(now, before,
      fmt::format("{}: {}, nothing better beside it: stay", WorkersText(base_workers_),
                  RateText(base_.rate)));
}

void Tuner::WatchSettled(nanoseconds now, const Throughput& seen) {
  const LogRate change = GainBetween(base_, seen);
  const bool other = std::abs(change.value) > std::max(kChanged, kChangedErrors * change.error);
  const std::string text = Comparison(base_, change.value);
  // Once may be chance.
  surprised_ = other && !surprised_;
  if (surprised_) return Move(now, workers_, Phase::kSettled);
  base_ = other ? seen : Surer(base_, seen);
  if (!other && wait_ > 0) {
    --wait_;
    return Move(now, workers_, Phase::kSettled);
  }
  if (other) {
    Say(now, workers_, fmt::format("{}: {} before: look again", WorkersText(workers_), text));
    fruitless_ = 0;
  } else {
    ++fruitless_;
  }
  up_failed_ = down_failed_ = false;
  // A small step brings too little to be seen, perhaps.
  reach_ = 1 + fruitless_ % 2;
  prefer_up_ = (random_() & 1) == 0;
  TryNext(now);
}

unsigned Tuner::Ceiling() const {
  if (!failed_at_) return options_.most;
  return std::clamp(*failed_at_ - 1, options_.least, options_.most);
}

// How many workers more or fewer are tried. Where steps differ much, one alone makes no difference
// that could be seen.
unsigned Tuner::Far() const {
  const unsigned far = reach_ * StepAt(base_workers_);
  if (base_.workers == 0) return far;
  const double seen = std::expm1(std::min(kVisible * base_.little.error, 1.0));
  const auto least = static_cast<unsigned>(std::lround(seen * base_workers_));
  return std::max(far, std::min(least, base_workers_ / 2));
}

std::optional<unsigned> Tuner::Up() const {
  const unsigned up = std::min(base_workers_ + Far(), Ceiling());
  if (up <= base_workers_) return std::nullopt;
  return up;
}

std::optional<unsigned> Tuner::Down() const {
  if (base_workers_ <= options_.least) return std::nullopt;
  return std::max(options_.least, base_workers_ - std::min(Far(), base_workers_));
}

}  // namespace reveza::runner
