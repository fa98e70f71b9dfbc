#include "runner/decide/pressure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace reveza::runner {
namespace {

std::optional<Bytes> Available(const Reading& reading) {
  if (!reading.memory_available) return reading.cgroup_headroom;
  return std::min(*reading.memory_available,
                  reading.cgroup_headroom.value_or(*reading.memory_available));
}

const Admitted* Youngest(std::span<const Admitted> running, auto&& is_meant) {
  const Admitted* found = nullptr;
  for (const Admitted& step : running) {
    if (is_meant(step) && (found == nullptr || step.since >= found->since)) found = &step;
  }
  return found;
}

bool IsPaused(const Admitted& step) { return step.paused; }
bool IsActive(const Admitted& step) { return !step.paused; }
bool MayBePaused(const Admitted& step) { return !step.paused && !step.holds_gpu; }

const Admitted* OldestPaused(std::span<const Admitted> running) {
  const Admitted* found = nullptr;
  for (const Admitted& step : running) {
    if (step.paused && (found == nullptr || step.since < found->since)) found = &step;
  }
  return found;
}

}  // namespace

void RunningTime::Pause(nanoseconds now) {
  before_ = Elapsed(now);
  paused_ = true;
}

void RunningTime::Resume(nanoseconds now) {
  before_ = Elapsed(now);
  since_ = now;
  paused_ = false;
}

RunningTime::nanoseconds RunningTime::Elapsed(nanoseconds now) const {
  return paused_ ? before_ : before_ + std::max(nanoseconds(0), now - since_);
}

bool PressureGuard::IsHigh(const Reading& reading) const {
  const auto available = Available(reading);
  return reading.memory_full.value_or(0) > limits_.full_most ||
         (available && *available < limits_.available_least);
}

bool PressureGuard::IsCalm(const Reading& reading) const {
  const auto available = Available(reading);
  return reading.memory_full.value_or(0) < limits_.full_calm &&
         (!available || *available >= 2 * limits_.available_least);
}

std::string PressureGuard::Words(const Reading& reading) const {
  const auto available = Available(reading);
  if (available && *available < limits_.available_least) {
    return fmt::format("only {} of memory are free", FormatBytes(*available));
  }
  return fmt::format("all waited for memory {:.0f} % of the last 10 s",
                     reading.memory_full.value_or(0));
}

std::optional<PressureAction> PressureGuard::NextWhileHeld(const Reading& reading,
                                                           std::span<const Admitted> running) {
  const bool something_runs = std::ranges::any_of(running, IsActive);
  if (!IsHigh(reading) || !something_runs || running.size() < 2) return std::nullopt;
  if (acted_ && reading.now - *acted_ < limits_.relief) return std::nullopt;
  const Admitted* still = Youngest(running, IsPaused);
  const Admitted* chosen = still != nullptr ? still : Youngest(running, IsActive);
  acted_ = reading.now;
  relieved_ = false;
  return PressureAction{PressureAction::Kind::kEnd, chosen->step,
                        Words(reading) + ", and in a paused job the steps on a GPU run on"};
}

std::optional<PressureAction> PressureGuard::Next(const Reading& reading,
                                                  std::span<const Admitted> running, bool held) {
  using Kind = PressureAction::Kind;
  const bool high = IsHigh(reading);
  const bool calm = IsCalm(reading);
  const auto paused = std::ranges::count(running, true, &Admitted::paused);
  const auto active = static_cast<std::ptrdiff_t>(running.size()) - paused;
  holds_ = high || paused > 0 || (holds_ && !calm);
  if (!high) relieved_ = true;
  // The user's pause may bring relief as ours does.
  if (held && !std::exchange(held_, true)) acted_ = reading.now;
  held_ = held;
  if (held) return NextWhileHeld(reading, running);

  const auto act = [&](Kind kind, const Admitted& step, std::string reason) {
    acted_ = reading.now;
    relieved_ = false;
    return PressureAction{kind, step.step, std::move(reason)};
  };
  if (active == 0 && paused > 0) {
    return act(Kind::kResume, *OldestPaused(running), "nothing else runs any more");
  }
  if (acted_ && reading.now - *acted_ < limits_.relief) return std::nullopt;
  if (calm && paused > 0) {
    return act(Kind::kResume, *OldestPaused(running), "memory is free again");
  }
  if (!high) return std::nullopt;
  const Admitted* next = Youngest(running, MayBePaused);
  // What was paused last brought no relief, or there is nothing else to pause.
  if (paused > 0 && (!relieved_ || active < 2 || next == nullptr)) {
    return act(Kind::kEnd, *Youngest(running, IsPaused),
               Words(reading) + ", and pausing the youngest step did not help");
  }
  if (active < 2) return std::nullopt;
  if (next != nullptr) return act(Kind::kPause, *next, Words(reading));
  return act(Kind::kEnd, *Youngest(running, IsActive),
             Words(reading) + ", and a step on a GPU is not paused");
}

}  // namespace reveza::runner
