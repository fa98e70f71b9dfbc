#include "reveza/jobs/decide/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/units.h"

namespace reveza::jobs {
namespace {

constexpr double kClearErrors = 3;      // of a gain that ends a trial early,
constexpr double kClearErrorsUp = 1.5;  // for more workers
constexpr std::size_t kFewWindows = 2;
constexpr double kHopelessLoss = 0.3;
constexpr double kPreciseError = 0.03;  // of a measurement that is long enough
constexpr std::uint64_t kMinSteps = 4;
constexpr std::uint64_t kMaxSteps = 300;
constexpr std::uint64_t kRestShare = 20;  // of the remaining steps
constexpr unsigned kMaxRestarts = 8;      // if each step has a class of its own, restarts must end

constexpr unsigned kHealthyToRetry = 30;  // windows before the failed number is tried again
constexpr unsigned kMaxDoublings = 6;

}  // namespace

Tuner::Tuner(Options options) : options_(std::move(options)) {
  options_.min = std::max(1u, options_.min);
  options_.max = std::max(options_.min, options_.max);
  workers_ = base_workers_ = std::clamp(options_.initial, options_.min, options_.max);
}

void Tuner::OnStepFinished(nanoseconds now, const FinishedStep& step) {
  const double seconds = std::max(0.0, Seconds(step.duration));
  if (measurement_ && measurement_->steps() > 0) slowdown_ = measurement_->slowdown();
  if (typical_.Add(step.step_class, seconds, slowdown_) && restarts_ < kMaxRestarts) Restart(now);
  if (measurement_) {
    measurement_->OnStepFinished(now, step.duration, step.cpu,
                                 typical_.Typical(step.step_class).value_or(seconds));
  }
  use_.OnStepEnded(step.step, step.cpu);
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
  worse_.clear();
  Move(now, std::max(options_.min, before / 2), Phase::kRecover);
  LogDecision(now, before,
              fmt::format("{}: {}: {} {}", Plural(before, "worker"), ToText(signal),
                          workers_ < before ? "down to" : "stay at", workers_));
}

void Tuner::Update(nanoseconds now, std::uint64_t remaining, unsigned running) {
  remaining_ = remaining;
  running_ = running;
  if (measurement_) measurement_->SetRunning(now, running);
  const bool was_bounded = guard_.failed_at().has_value();
  if (guard_.EndWindow(now, WindowLength(), running > workers_)) {
    if (phase_ == Phase::kRecover) {
      Recover(now);
    } else {
      guard_.StopIfClear();
      // What failed may be tried again.
      if (was_bounded && !guard_.failed_at()) Move(now, base_workers_, Phase::kBase);
    }
  }
  if (phase_ == Phase::kRecover) return;
  if (!measurement_) {
    if (IsWarmingUp(now, running)) return;
    measurement_.emplace(now, workers_);
    measurement_->SetRunning(now, running);
  } else if (const auto seen = Measured(*measurement_)) {
    OnMeasured(now, *seen, measurement_->max_running());
  }
}

// Discards measurements from before the typical duration of a class was known.
void Tuner::Restart(nanoseconds now) {
  if (phase_ == Phase::kRecover) return;
  ++restarts_;
  base_ = {};
  worse_.clear();
  Move(now, base_workers_, Phase::kBase);
}

void Tuner::RecordMemory(Bytes in_use) { table_.RecordMemory(workers_, in_use); }

void Tuner::Move(nanoseconds now, unsigned workers, Phase phase) {
  if (workers != workers_) {
    changed_ = now;
    use_.Restart(now);
    samples_ = 0;
  }
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

// Returns whether a trial of fewer workers is so much worse that a few steps tell.
bool Tuner::IsHopeless(const Measurement& measurement) const {
  if (phase_ != Phase::kTrial || workers_ >= base_.workers) return false;
  const auto seen = measurement.Result(kFewWindows);
  if (!seen || seen->steps < std::max(kFewWindows, std::size_t{workers_} / 2)) return false;
  const LogRate gain = GainBetween(base_, *seen);
  return gain.value < -std::max(kClearErrors * gain.error, kHopelessLoss);
}

// Returns the result of `measurement` once it is long or precise enough.
std::optional<Throughput> Tuner::Measured(const Measurement& measurement) const {
  if (IsHopeless(measurement)) return measurement.Result(kFewWindows);
  auto seen = measurement.Result();
  if (!seen || seen->steps < kMinSteps) return std::nullopt;
  const std::uint64_t share = std::min(remaining_ / kRestShare, kMaxSteps);
  if (seen->steps >= std::max({share, kMinSteps, std::uint64_t{workers_}})) return seen;
  bool precise = std::min(seen->counted.error, seen->little.error) < kPreciseError;
  if (phase_ == Phase::kTrial && base_.workers > 0) {
    const LogRate gain = GainBetween(base_, *seen);
    const double errors = workers_ > base_workers_ ? kClearErrorsUp : kClearErrors;
    precise = std::abs(gain.value) > std::max(errors * gain.error, kMinGain);
  }
  if (!precise) return std::nullopt;
  return seen;
}

void Tuner::OnMeasured(nanoseconds now, const Throughput& seen, unsigned max_running) {
  table_.Record(seen);
  switch (phase_) {
    case Phase::kBase:
      base_ = seen;
      starved_ = max_running < workers_;
      return TryNext(now);
    case Phase::kTrial:
      if (max_running <= base_workers_ && workers_ > base_workers_) return LeaveStarved(now);
      return JudgeTrial(now, seen);
    case Phase::kSettled:
      return CheckSettled(now, seen);
    case Phase::kRecover:
      return;
  }
}

// Something else keeps more steps from running, so a trial measured the old number again.
void Tuner::LeaveStarved(nanoseconds now) {
  const unsigned tried = workers_;
  starved_ = true;
  Settle(now);
  LogDecision(now, tried,
              fmt::format("{}: steps wait for something else: back to {}", Plural(tried, "worker"),
                          base_workers_));
}

unsigned Tuner::MaxAllowed() const {
  const auto failed_at = guard_.failed_at();
  if (!failed_at) return options_.max;
  return std::clamp(*failed_at - 1, options_.min, options_.max);
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

std::string Tuner::Limit() const {
  if (const auto failed = guard_.failed_at(); failed && workers_ + 1 >= *failed) {
    return fmt::format("memory: with {} {}", *failed, ToText(*guard_.last_signal()));
  }
  if (starved_) return "steps wait for something else, so fewer ran than may";
  if (workers_ >= options_.max) return fmt::format("{}: {}", options_.max_reason, options_.max);
  const auto above = worse_.upper_bound(workers_);
  if (flat_ || above != worse_.end()) {
    return above == worse_.end()
               ? fmt::format("throughput: more workers use no more of the cores")
               : fmt::format("throughput: {} finish no more", Plural(above->first, "worker"));
  }
  if (last_ && last_->workers == workers_ && IsFull(*last_)) {
    return fmt::format("cores: {:.1f} of {:.3g} busy", last_->busy, options_.cores);
  }
  return remaining_ == 0 ? "steps: all run or have ended" : "";
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
