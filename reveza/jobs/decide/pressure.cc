#include "reveza/jobs/decide/pressure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reveza::jobs {
namespace {

const RunningStep* Youngest(std::span<const RunningStep> running, auto&& matches) {
  const RunningStep* found = nullptr;
  for (const RunningStep& step : running) {
    if (matches(step) && (found == nullptr || step.since >= found->since)) found = &step;
  }
  return found;
}

bool IsPaused(const RunningStep& step) { return step.paused; }
bool IsActive(const RunningStep& step) { return !step.paused; }
bool MayBePaused(const RunningStep& step) { return !step.paused && !step.holds_gpu; }

const RunningStep* OldestPaused(std::span<const RunningStep> running) {
  const RunningStep* found = nullptr;
  for (const RunningStep& step : running) {
    if (step.paused && (found == nullptr || step.since < found->since)) found = &step;
  }
  return found;
}

// Percent of PSI "full" avg10 above which a step is paused, and below which paused steps resume.
constexpr double kHigh = 10;
constexpr double kCalm = 2;
constexpr std::chrono::seconds kReliefTimeout{10};

bool IsHigh(const MachineReading& reading) { return reading.memory_full.value_or(0) > kHigh; }

std::string DescribePressure(const MachineReading& reading) {
  return fmt::format("all tasks stalled on memory {:.0f} % of the last 10 s",
                     reading.memory_full.value_or(0));
}

}  // namespace

std::optional<PressureAction> PressureGuard::NextWhileJobPaused(
    const MachineReading& reading, std::span<const RunningStep> running) {
  const bool something_runs = std::ranges::any_of(running, IsActive);
  if (!IsHigh(reading) || !something_runs || running.size() < 2) return std::nullopt;
  if (last_action_ && reading.now - *last_action_ < kReliefTimeout) return std::nullopt;
  const RunningStep* youngest_paused = Youngest(running, IsPaused);
  const RunningStep* chosen =
      youngest_paused != nullptr ? youngest_paused : Youngest(running, IsActive);
  last_action_ = reading.now;
  relieved_ = false;
  return PressureAction{
      PressureAction::Kind::kTerminate, chosen->step,
      DescribePressure(reading) + "; the job is paused, but its GPU steps keep running"};
}

std::optional<PressureAction> PressureGuard::Next(const MachineReading& reading,
                                                  std::span<const RunningStep> running,
                                                  bool job_paused) {
  using Kind = PressureAction::Kind;
  const bool high = IsHigh(reading);
  const bool calm = reading.memory_full.value_or(0) < kCalm;
  const auto paused = std::ranges::count(running, true, &RunningStep::paused);
  const auto active = static_cast<std::ptrdiff_t>(running.size()) - paused;
  blocks_starts_ = high || paused > 0 || (blocks_starts_ && !calm);
  if (!high) relieved_ = true;
  // A pause by the user may bring relief as well.
  if (job_paused && !std::exchange(job_was_paused_, true)) last_action_ = reading.now;
  job_was_paused_ = job_paused;
  if (job_paused) return NextWhileJobPaused(reading, running);

  const auto act = [&](Kind kind, const RunningStep& step, std::string reason) {
    last_action_ = reading.now;
    relieved_ = false;
    return PressureAction{kind, step.step, std::move(reason)};
  };
  if (active == 0 && paused > 0) {
    return act(Kind::kResume, *OldestPaused(running), "no other step is running");
  }
  if (last_action_ && reading.now - *last_action_ < kReliefTimeout) return std::nullopt;
  if (calm && paused > 0) {
    return act(Kind::kResume, *OldestPaused(running), "memory is available again");
  }
  if (!high) return std::nullopt;
  const RunningStep* next = Youngest(running, MayBePaused);
  // The last pause brought no relief, or there is nothing else to pause.
  if (paused > 0 && (!relieved_ || active < 2 || next == nullptr)) {
    return act(Kind::kTerminate, *Youngest(running, IsPaused),
               DescribePressure(reading) + "; pausing the youngest step brought no relief");
  }
  if (active < 2) return std::nullopt;
  if (next != nullptr) return act(Kind::kPause, *next, DescribePressure(reading));
  return act(Kind::kTerminate, *Youngest(running, IsActive),
             DescribePressure(reading) + "; GPU steps cannot be paused");
}

}  // namespace reveza::jobs
