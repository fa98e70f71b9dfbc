// What is done when a step ends.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/system_error.h"
#include "doctor/death.h"
#include "platform/host_memory.h"
#include "runner/decide/gpu_refusal.h"
#include "runner/engine/engine.h"
#include "runner/journal/journal_format.h"
#include "runner/journal/verify_outputs.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kMostForMemory = 3;  // further turns, each with a larger claim

// What a program said before it ended.
std::string LastLines(const std::string& path) {
  constexpr std::streamoff kMost = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  file.seekg(std::max<std::streamoff>(0, file.tellg() - std::streamoff{kMost}));
  std::string text(kMost, '\0');
  file.read(text.data(), kMost);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// For want of something that may be there later: `code` says of what.
bool WasNotBegun(const AttemptResult& result) {
  return result.outcome == Outcome::kCancelled && result.pid == 0 && result.code != 0;
}

}  // namespace

void Engine::OnResult(std::size_t slot, AttemptResult result) {
  const auto& running = pool_.slots()[slot].active;
  if (!running) return;
  const Active active = *running;
  if (result.name != active.name) return;
  pool_.Clear(slot);
  cpu_of_ended_ += Nanoseconds(result.user_time + result.system_time);
  bool no_gpu_memory = false;
  const std::string explanation = Explain(active, result, no_gpu_memory);
  AttemptExtra extra;
  extra.boot = ReadBootId();
  extra.peak = PeakOf(active, result);
  // Where it cannot be had now, the step runs again after a power cut.
  extra.output_hash = HashOfOutputs(Outputs() / entries_[active.step].files, result).value_or(0);
  const auto noted = parts_.journal.Note(result, extra);
  if (!noted) BeInTrouble(noted.error());
  ++ended_here_;
  NoteBrief(active, result);
  governor_.Ended(Now(), active.step, result, active.need,
                  {extra.peak.value_or(0), active.gpu_peak.value_or(0), no_gpu_memory,
                   active.ended_at_limit || (active.limit && active.group_end.at_limit)});
  if (WasNotBegun(result)) WaitForRoom(active, result.code);
  const bool again = Settle(active.step, result, active.first_cycle);
  observer_.OnEnd(ReportOf(active.step, result.name.attempt), result, again, explanation);
  governor_.Pass(Now(), WaitingByLane(), Running());
}

// Each try is written down, so they become rare.
void Engine::WaitForRoom(const Active& active, int error) {
  constexpr Nanoseconds kFirst = 500ms;
  constexpr Nanoseconds kLast = 10s;
  const std::string why = SystemError("steps cannot be begun now", error).message;
  if (std::exchange(said_not_started_, why) != why) {
    observer_.OnNote(fmt::format("{} (step {}); they are tried again", why, active.label));
  }
  pause_before_start_ = std::clamp(2 * pause_before_start_, kFirst, kLast);
  no_start_before_ = Now() + pause_before_start_;
}

// Of a step that died of memory as often as another claim may help, and for which nobody has said
// what it needs.
bool Engine::IsLastTurn(std::uint32_t step) const {
  const auto deaths = memory_deaths_.find(step);
  return deaths != memory_deaths_.end() && deaths->second >= kMostForMemory &&
         !job_.commands[job_.steps[step].command].claim.memory;
}

bool Engine::TryAgain(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle) {
  const auto& cycles = job_.commands[job_.steps[step].command].cycles;
  if (cycles) {
    const auto first = parts_.journal.FirstMissingCycle(entries_[step].identity, cycles->count);
    // Whoever got further may go on, however often it dies.
    if (first && *first > first_cycle && *first <= cycles->count) return true;
  }
  if (result.outcome == Outcome::kCancelled) return true;
  if (result.outcome == Outcome::kMemory) return memory_deaths_[step]++ < kMostForMemory;
  return failures_[step]++ < parts_.request.retries;
}

// One process may have been larger than the samples of all; what the kernel counted in the group
// has page cache in it, so that is the most that it can have been.
Bytes Engine::PeakOf(const Active& active, const AttemptResult& result) const {
  Bytes peak = std::max(active.peak.value_or(0), Bytes{result.largest_resident});
  const auto& end = active.group_end;
  if (!end.peak) return peak;
  peak = std::min(peak, *end.peak);
  // Killed at its limit: the cache had been dropped before.
  constexpr Bytes kOnTheWay = kMiB;  // charged in batches
  const bool at_limit = end.kills > 0 && active.limit && *end.peak + kOnTheWay >= *active.limit;
  return at_limit ? std::max(peak, *end.peak) : peak;
}

void Engine::NoteBrief(const Active& active, const AttemptResult& result) {
  constexpr Nanoseconds kBrief = 100ms;
  const auto command = job_.steps[active.step].command;
  if (Nanoseconds(result.ended - result.began) >= kBrief) {
    brief_.erase(command);
  } else if (result.outcome == Outcome::kSuccess) {
    brief_.insert(command);
  }
}

// From the counters of its own control group.
std::string Engine::ExplainKill(const Active& active) const {
  doctor::Death death;
  death.command = entries_[active.step].label;
  death.signal = SIGKILL;
  death.kills_before = 0;
  death.kills_after = active.group_end.kills;
  const Bytes most = active.group_end.peak.value_or(0);
  if (active.limit) death.memory = {*active.limit, most, "its control group"};
  const auto finding = doctor::ExplainDeath(death);
  if (!finding) return "the kernel killed it for memory";
  return fmt::format("{}; {}", finding->observed, active.limit ? finding->limit : finding->fix);
}

// From what it said last, of itself or of a program that it had started, and from what was seen of
// its limits. Empty: the doctor knows no such death.
std::string Engine::ExplainFailure(const Active& active, const AttemptResult& result) const {
  doctor::Death death;
  death.command = entries_[active.step].label;
  (result.outcome == Outcome::kSignal ? death.signal : death.exit_status) = result.code;
  const std::string files = (Outputs() / entries_[active.step].files).string();
  death.last_lines = LastLines(files + ".out") + "\n" + LastLines(files + ".err");
  active.witness.Tell(death);
  const auto finding = doctor::ExplainDeath(death);
  if (!finding) return {};
  const char* sure = finding->sure == doctor::Sureness::kLikely ? " (likely)" : "";
  const std::string limit = finding->limit.empty() ? "" : "; " + finding->limit + sure;
  return fmt::format("{}{}; {}", finding->observed, limit, finding->fix);
}

// Empty where it says nothing of memory of the GPU. Alone there it has had all that there is: that
// is a failure like others.
std::string Engine::ExplainGpuRefusal(const Active& active, AttemptResult& result,
                                      bool& no_gpu_memory) const {
  const auto line =
      FindGpuRefusal(LastLines((Outputs() / entries_[active.step].files).string() + ".err"));
  if (!line) return {};
  const bool alone = active.need.gpu_alone || !active.gpu_beside_others;
  if (!alone) {
    result.outcome = Outcome::kMemory;
    no_gpu_memory = true;
  }
  return fmt::format("the GPU had no memory for it{}, by its own words (weak evidence): {}",
                     alone ? ", and no other step of this job was there" : "", *line);
}

// Tells a death for memory from other kills, by what the kernel counted meanwhile, and asks the
// doctor about those that have a name.
std::string Engine::Explain(const Active& active, AttemptResult& result,
                            bool& no_gpu_memory) const {
  if (active.ended_for_memory && result.outcome == Outcome::kCancelled) {
    result.outcome = Outcome::kMemory;
    return "ended to free memory, and to be run again with a larger claim";
  }
  if (result.outcome == Outcome::kMemory) return ExplainKill(active);
  const bool failed = result.outcome == Outcome::kFailure || result.outcome == Outcome::kSignal;
  if (failed && !active.ending) {
    if (std::string words = ExplainFailure(active, result); !words.empty()) return words;
  }
  if (failed && active.need.gpu_memory > 0 && !active.ending) {
    std::string words = ExplainGpuRefusal(active, result, no_gpu_memory);
    if (!words.empty()) return words;
  }
  if (result.outcome != Outcome::kSignal || result.code != SIGKILL || active.ending) return {};
  // Its own group would have said so; the machine's counter counts others, too.
  if (!active.group.empty() || active.group_told) return {};
  const auto kills = platform::OutOfMemoryKills(parts_.root);
  if (!kills || !active.kills_before || *kills <= *active.kills_before) return {};
  result.outcome = Outcome::kMemory;
  return "the kernel killed it for memory";
}

bool Engine::Settle(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle) {
  if (result.outcome == Outcome::kSuccess) {
    schedule_.Finish(step);
    return false;
  }
  if (result.outcome == Outcome::kUnknown) {
    if (parts_.request.on_unknown == OnUnknown::kRetry) {
      schedule_.Requeue(step);
      return true;
    }
    schedule_.Hold(step);
    return false;
  }
  if (TryAgain(step, result, first_cycle)) {
    // Where it cannot be written now, the next runner decides anew.
    if (auto forgotten = parts_.journal.Forget(entries_[step].identity); !forgotten) {
      BeInTrouble(forgotten.error());
    }
    schedule_.Requeue(step);
    return true;
  }
  if (auto given_up = parts_.journal.GiveUp(entries_[step].identity); !given_up) {
    BeInTrouble(given_up.error());
  }
  schedule_.Fail(step);
  CheckHalt();
  return false;
}

void Engine::CheckHalt() {
  const auto& halt = parts_.request.halt;
  if (halt.how == Halt::How::kNever || mode_ == Mode::kEnding) return;
  const auto failed = schedule_.counts().failed;
  const bool enough = (halt.failures && failed >= *halt.failures) ||
                      (halt.share && static_cast<double>(failed) >=
                                         *halt.share * static_cast<double>(job_.steps.size()));
  if (!enough) return;
  observer_.OnNote(fmt::format("{} steps have failed, so the job is given up", failed));
  if (halt.how == Halt::How::kNow) {
    EndAll();
  } else {
    mode_ = Mode::kDraining;
  }
}

Status Engine::MakeOutputsLast() {
  if (!outputs_last_) return {};
  const auto set = SetBarrier(parts_.journal, Outputs());
  if (!set) return std::unexpected(set.error());
  if (!set->refused) return {};
  // What its disk has lost it says once. Without the barrier those outputs are compared with what
  // they were when a power cut has been.
  outputs_last_ = false;
  observer_.OnNote(
      fmt::format("{}; what was done since is looked at after a power cut, and runs again if its "
                  "output is gone",
                  set->refused->message));
  return {};
}

}  // namespace reveza::runner
