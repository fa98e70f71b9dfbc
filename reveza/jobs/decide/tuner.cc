#include "reveza/jobs/decide/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/units.h"

namespace reveza::jobs {
namespace {

constexpr double kClearErrors = 3;      // gain, in standard errors, that ends a measurement early
constexpr double kPreciseError = 0.01;  // an error that needs no more measuring
constexpr double kPreciseLeapError = 0.12;    // the same for a leap
constexpr std::uint64_t kMinSteps = 5;        // of a measurement
constexpr std::uint64_t kMaxSteps = 300;      // of a measurement that is still imprecise
constexpr std::uint64_t kRestShare = 20;      // and at most 1/20 of the remaining steps,
constexpr std::uint64_t kLeapRestShare = 10;  // or 1/10 for a leap, of which there are few
constexpr unsigned kMaxRestarts = 8;  // if each step has a class of its own, restarts must end

constexpr unsigned kHealthyToRetry = 30;  // windows before the failed number is tried again
constexpr unsigned kMaxDoublings = 6;

}  // namespace

Tuner::Tuner(Options options) : options_(options), random_(options_.seed) {
  options_.min = std::max(1u, options_.min);
  options_.max = std::max(options_.min, options_.max);
  workers_ = base_workers_ = std::clamp(options_.initial, options_.min, options_.max);
}

void Tuner::OnStepFinished(nanoseconds now, nanoseconds duration, WorkClass step_class) {
  const double seconds = std::max(0.0, Seconds(duration));
  if (measurement_ && measurement_->steps() > 0) slowdown_ = measurement_->slowdown();
  if (typical_.Add(step_class, seconds, slowdown_) && restarts_ < kMaxRestarts) Restart(now);
  if (measurement_) {
    measurement_->OnStepFinished(now, duration, typical_.Typical(step_class).value_or(seconds));
  }
  guard_.OnStepFinished();
}

Tuner::nanoseconds Tuner::WindowLength() const {
  return std::max(typical_.median().value_or(nanoseconds(0)), nanoseconds(kMinWindow));
}

void Tuner::OnOverload(nanoseconds now, OverloadSignal signal) {
  const unsigned before = workers_;
  if (!guard_.OnOverload(now, signal, before, WindowLength())) return;
  base_workers_ = std::min(base_workers_, MaxAllowed());
  guard_.set_recovery_target(base_workers_);
  base_ = {};
  tried_ = {};
  leap_up_ = leap_down_ = up_failed_ = down_failed_ = frozen_ = false;
  Move(now, std::max(options_.min, before / 2), Phase::kRecover);
  LogDecision(now, before,
              fmt::format("{}: {}: {} {}", Plural(before, "worker"), ToText(signal),
                          workers_ < before ? "down to" : "stay at", workers_));
}

void Tuner::Update(nanoseconds now, std::uint64_t remaining, unsigned running) {
  remaining_ = remaining;
  if (measurement_) measurement_->SetRunning(now, running);
  if (guard_.EndWindow(now, WindowLength(), running > workers_)) {
    if (phase_ == Phase::kRecover) {
      Recover(now);
    } else {
      guard_.StopIfClear();
    }
  }
  if (phase_ == Phase::kRecover) return;
  if (remaining < kFreezeSteps * workers_) {
    if (!frozen_) Freeze(now);
    return;
  }
  if (frozen_) {
    frozen_ = false;
    Move(now, workers_, Phase::kBase);
  }
  if (!measurement_) {
    if (IsWarmingUp(now, running)) return;
    measurement_.emplace(now, workers_);
    measurement_->SetRunning(now, running);
  } else if (const auto seen = Measured(now, *measurement_)) {
    OnMeasured(now, *seen, measurement_->saturated());
  }
}

// Discards measurements from before the typical duration of a class was known.
void Tuner::Restart(nanoseconds now) {
  if (phase_ == Phase::kRecover || frozen_) return;
  ++restarts_;
  base_ = tried_ = {};
  Move(now, base_workers_, Phase::kBase);
}

void Tuner::RecordMemory(Bytes in_use) { table_.RecordMemory(workers_, in_use); }

void Tuner::Move(nanoseconds now, unsigned workers, Phase phase) {
  if (workers != workers_) changed_ = now;
  workers_ = workers;
  phase_ = phase;
  measurement_.reset();
}

// Returns whether steps from before the last change would still bias a measurement.
bool Tuner::IsWarmingUp(nanoseconds now, unsigned running) {
  if (!changed_) return false;
  if (running > workers_) changed_ = now;
  return now - *changed_ < WindowLength();
}

// Returns the result of `measurement` once it is long or precise enough.
std::optional<Throughput> Tuner::Measured(nanoseconds now, const Measurement& measurement) const {
  auto seen = measurement.Result();
  if (!seen || seen->steps < kMinSteps) return std::nullopt;
  if (now - measurement.begun() < 2 * typical_.median().value_or(nanoseconds(0))) {
    return std::nullopt;
  }
  const std::uint64_t min = std::uint64_t{3} * workers_;
  const std::uint64_t share = leaping() ? kLeapRestShare : kRestShare;
  const std::uint64_t enough =
      std::clamp<std::uint64_t>(remaining_ / share, min, std::max(kMaxSteps, min));
  if (seen->steps >= enough) return seen;
  bool precise = std::min(seen->counted.error, seen->little.error) <
                 (leaping() ? kPreciseLeapError : kPreciseError);
  if (phase_ == Phase::kTrial && base_.workers > 0) {
    const LogRate gain = GainBetween(base_, *seen);
    precise = std::abs(gain.value) > std::max(kClearErrors * gain.error, kMinGain);
    if (leap_) precise = std::abs(gain.value - MinLeapGain(workers_)) > kMinErrors * gain.error;
  }
  if (!precise) return std::nullopt;
  return seen;
}

void Tuner::OnMeasured(nanoseconds now, const Throughput& seen, bool saturated) {
  table_.Record(seen);
  switch (phase_) {
    case Phase::kBase:
      base_ = seen;
      starved_ = !saturated;
      if (!saturated) up_failed_ = true;
      if (!saturated) leap_up_ = false;
      return TryNext(now);
    case Phase::kTrial:
      if (saturated || workers_ < base_workers_) return JudgeTrial(now, seen);
      // Something else keeps more steps from running, so this measured the old number again.
      up_failed_ = true;
      leap_up_ = false;
      LogDecision(now, workers_,
                  fmt::format("{}: steps wait for something else: back to {}",
                              Plural(workers_, "worker"), base_workers_));
      return GoBack(now, Phase::kBase);
    case Phase::kRecheck:
      return JudgeAfterRecheck(now, seen);
    case Phase::kSettled:
      return CheckSettled(now, seen);
    case Phase::kRecover:
      return;
  }
}

void Tuner::Freeze(nanoseconds now) {
  const unsigned before = workers_;
  bool keep = phase_ != Phase::kTrial;
  if (!keep && base_.workers > 0 && measurement_) {
    const auto seen = measurement_->Result();
    keep = seen && GainBetween(base_, *seen).value > 0;
  }
  if (keep) base_workers_ = workers_;
  frozen_ = true;
  tried_ = {};
  Move(now, base_workers_, Phase::kBase);
  LogDecision(now, before,
              fmt::format("{}: fewer than {} steps per worker left: no further changes",
                          Plural(workers_, "worker"), kFreezeSteps));
}

void Tuner::Recover(nanoseconds now) {
  const unsigned target = guard_.recovery_target();
  if (workers_ < target) {
    Move(now, workers_ + 1, Phase::kRecover);
    LogDecision(now, workers_ - 1,
                fmt::format("{}: no overload: one more", Plural(workers_ - 1, "worker")));
  }
  if (workers_ < target) return;
  base_workers_ = workers_;
  Move(now, workers_, Phase::kBase);
}

std::string Tuner::SingleCountReason() const {
  if (options_.min == options_.max) {
    return fmt::format("at most {} may run at once", options_.max);
  }
  if (const auto signal = guard_.last_signal()) return std::string(ToText(*signal));
  if (starved_) return "steps were waiting for something else, so more never ran at once";
  if (frozen_) {
    return fmt::format("fewer than {} steps per worker were left by then", kFreezeSteps);
  }
  return "the first measurement has just finished";
}

// Formats "5.94 steps/s, 3 gave 6.11". The first figure is derived from the second and the gain, so
// that both are measured the same way.
std::string Tuner::Comparison(const Throughput& before, double gain) const {
  const double rate = before.rate / typical_.mean();
  const RateUnit unit = RateUnitFor(rate);
  return fmt::format("{:.3g} steps/{}, {} gave {:.3g}", rate * std::exp(gain) * unit.seconds,
                     unit.name, before.workers, rate * unit.seconds);
}

void Tuner::LogDecision(nanoseconds now, unsigned before, std::string text) {
  log_.Add({now, before, workers_, std::move(text)});
}

std::string_view ToText(OverloadSignal signal) {
  constexpr std::array<std::string_view, 3> kTexts = {"a step was killed for memory",
                                                      "all tasks stalled on memory",
                                                      "a step ran out of GPU memory"};
  return kTexts.at(static_cast<std::size_t>(signal));
}

bool OverloadGuard::OnOverload(nanoseconds now, OverloadSignal signal, unsigned workers,
                               nanoseconds window) {
  healthy_windows_ = 0;
  window_begun_ = now;
  finished_in_window_ = 0;
  if (incident_begun_ && now - *incident_begun_ < window) return false;
  incident_begun_ = now;
  last_signal_ = signal;
  failed_at_ = workers;
  overloads_ = std::min(overloads_ + 1, kMaxDoublings);
  return true;
}

bool OverloadGuard::EndWindow(nanoseconds now, nanoseconds window, bool is_over_target) {
  if (!window_begun_) return false;
  if (is_over_target) window_begun_ = now;
  if (now - *window_begun_ < window || finished_in_window_ == 0) return false;
  window_begun_ = now;
  finished_in_window_ = 0;
  if (++healthy_windows_ >= kHealthyToRetry << (overloads_ - 1)) failed_at_.reset();
  return true;
}

void OverloadGuard::StopIfClear() {
  if (!failed_at_) window_begun_.reset();
}

}  // namespace reveza::jobs
