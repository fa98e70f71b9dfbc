#include "runner/decide/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace reveza::runner {
namespace {

constexpr double kErrors = 2;
constexpr double kLeastGain = 0.02;
constexpr double kClearErrors = 3;  // ends a measurement early
constexpr double kSure = 0.01;      // an error that needs no more measuring
constexpr double kSureToLeap = 0.12;
constexpr std::uint64_t kFewestSteps = 5;       // of a measurement
constexpr std::uint64_t kMostSteps = 300;       // of one that is still unsure
constexpr std::uint64_t kShareOfRest = 20;      // and no more than this part of what is left
constexpr std::uint64_t kLeapShareOfRest = 10;  // the same of a leap, of which there are few
constexpr unsigned kHealthyToRetry = 30;        // windows before what failed is tried again
constexpr unsigned kMostDoublings = 6;
constexpr unsigned kMostRestarts = 8;  // where each step is of another class, nothing would be left

}  // namespace

Tuner::Tuner(Options options) : options_(std::move(options)), random_(options_.seed) {
  options_.least = std::max(1u, options_.least);
  options_.most = std::max(options_.least, options_.most);
  workers_ = base_workers_ = std::clamp(options_.first, options_.least, options_.most);
}

void Tuner::Finished(nanoseconds now, nanoseconds duration, double work, WorkClass step_class) {
  work = std::isfinite(work) && work > 0 ? work : 1;
  const double seconds = std::max(0.0, std::chrono::duration<double>(duration).count());
  if (measurement_ && measurement_->steps() > 0) slowdown_ = measurement_->slowdown();
  if (typical_.Add(step_class, seconds, work, slowdown_) && restarts_ < kMostRestarts) Restart(now);
  if (measurement_) {
    measurement_->Finished(now, duration, typical_.Of(step_class).value_or(seconds) * work);
  }
  ++finished_in_window_;
}

void Tuner::Hard(nanoseconds now, HardSignal signal) {
  const nanoseconds incident =
      std::max(typical_.median().value_or(nanoseconds(0)), options_.shortest_window);
  const bool same = last_hard_ && now - *last_hard_ < incident;
  healthy_ = 0;
  window_begun_ = now;
  finished_in_window_ = 0;
  if (same) return;

  last_hard_ = now;
  last_signal_ = signal;
  const unsigned before = workers_;
  failed_at_ = before;
  hard_count_ = std::min(hard_count_ + 1, kMostDoublings);
  base_workers_ = std::min(base_workers_, Ceiling());
  goal_ = base_workers_;
  base_ = {};
  tried_ = {};
  leap_up_ = leap_down_ = up_failed_ = down_failed_ = frozen_ = false;
  Move(now, std::max(options_.least, before / 2), Phase::kRecover);
  Say(now, before,
      fmt::format("{}: {}: {} {}", WorkersText(before), ToText(signal),
                  workers_ < before ? "down to" : "stay at", workers_));
}

void Tuner::Pass(nanoseconds now, std::uint64_t remaining, unsigned running) {
  remaining_ = remaining;
  if (measurement_) measurement_->Running(now, running);
  HealthyWindows(now, running);
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
    if (StillOld(now, running)) return;
    measurement_.emplace(now, workers_, options_.shortest_window);
    measurement_->Running(now, running);
  } else if (const auto seen = Measured(now, *measurement_)) {
    OnMeasured(now, *seen, measurement_->filled());
  }
}

// What was measured before it was known what is typical is worth nothing.
void Tuner::Restart(nanoseconds now) {
  if (phase_ == Phase::kRecover || frozen_) return;
  ++restarts_;
  base_ = tried_ = {};
  Move(now, base_workers_, Phase::kBase);
}

void Tuner::Memory(Bytes in_use) {
  Known& known = KnownOf(workers_);
  known.memory = std::max(known.memory.value_or(0), in_use);
}

void Tuner::Move(nanoseconds now, unsigned workers, Phase phase) {
  if (workers != workers_) changed_ = now;
  workers_ = workers;
  phase_ = phase;
  measurement_.reset();
}

// Whether steps of before the last change disturb what would be measured.
bool Tuner::StillOld(nanoseconds now, unsigned running) {
  if (!changed_) return false;
  if (running > workers_) changed_ = now;
  return now - *changed_ <
         std::max(typical_.median().value_or(nanoseconds(0)), options_.shortest_window);
}

// What was measured, once that is long enough.
std::optional<Throughput> Tuner::Measured(nanoseconds now, const Measurement& measurement) const {
  auto seen = measurement.Result();
  if (!seen || seen->steps < kFewestSteps) return std::nullopt;
  if (now - measurement.begun() < 2 * typical_.median().value_or(nanoseconds(0))) {
    return std::nullopt;
  }
  const std::uint64_t least = std::uint64_t{3} * workers_;
  const std::uint64_t share = leaping() ? kLeapShareOfRest : kShareOfRest;
  const std::uint64_t enough =
      std::clamp<std::uint64_t>(remaining_ / share, least, std::max(kMostSteps, least));
  if (seen->steps >= enough) return seen;
  bool sure = std::min(seen->counted.error, seen->little.error) < (leaping() ? kSureToLeap : kSure);
  if (phase_ == Phase::kTry && base_.workers > 0) {
    const LogRate gain = GainBetween(base_, *seen);
    sure = std::abs(gain.value) > std::max(kClearErrors * gain.error, kLeastGain);
    if (leap_) sure = std::abs(gain.value - LeastLeapGain(workers_)) > kErrors * gain.error;
  }
  if (!sure) return std::nullopt;
  return seen;
}

void Tuner::OnMeasured(nanoseconds now, const Throughput& seen, bool filled) {
  Remember(seen);
  switch (phase_) {
    case Phase::kBase:
      base_ = seen;
      starved_ = !filled;
      if (!filled) up_failed_ = true;
      if (!filled) leap_up_ = false;
      return TryNext(now);
    case Phase::kTry:
      if (filled || workers_ < base_workers_) return Judge(now, seen);
      // More may not run, whoever forbids it; and those that do are no news.
      up_failed_ = true;
      leap_up_ = false;
      Say(now, workers_,
          fmt::format("{}: steps wait for something else: back to {}", WorkersText(workers_),
                      base_workers_));
      return GoBack(now, Phase::kBase);
    case Phase::kAgain:
      return JudgeAgain(now, seen);
    case Phase::kSettled:
      return WatchSettled(now, seen);
    case Phase::kRecover:
      return;
  }
}

void Tuner::Freeze(nanoseconds now) {
  const unsigned before = workers_;
  bool keep = phase_ != Phase::kTry;
  if (!keep && base_.workers > 0 && measurement_) {
    const auto seen = measurement_->Result();
    keep = seen && GainBetween(base_, *seen).value > 0;
  }
  if (keep) base_workers_ = workers_;
  frozen_ = true;
  tried_ = {};
  Move(now, base_workers_, Phase::kBase);
  Say(now, before,
      fmt::format("{}: fewer than {} {} are left for each: nothing is changed any more",
                  WorkersText(workers_), kFreezeSteps, options_.unit));
}

// A window is healthy when steps end well in it and no hard signal comes.
void Tuner::HealthyWindows(nanoseconds now, unsigned running) {
  if (!window_begun_) return;
  const nanoseconds length =
      std::max(typical_.median().value_or(nanoseconds(0)), options_.shortest_window);
  if (running > workers_) window_begun_ = now;
  if (now - *window_begun_ < length || finished_in_window_ == 0) return;
  window_begun_ = now;
  finished_in_window_ = 0;
  if (++healthy_ >= kHealthyToRetry << (hard_count_ - 1)) failed_at_.reset();
  if (phase_ == Phase::kRecover) return Recover(now);
  if (!failed_at_) window_begun_.reset();
}

void Tuner::Recover(nanoseconds now) {
  if (workers_ < goal_) {
    Move(now, workers_ + 1, Phase::kRecover);
    Say(now, workers_ - 1, fmt::format("{}: all went well: one more", WorkersText(workers_ - 1)));
  }
  if (workers_ < goal_) return;
  base_workers_ = workers_;
  Move(now, workers_, Phase::kBase);
}

}  // namespace reveza::runner
