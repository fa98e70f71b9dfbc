// Events of running attempts, and what becomes of their steps.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/error.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/failure_explanation.h"
#include "reveza/jobs/journal/journal_format.h"
#include "reveza/jobs/journal/verify_outputs.h"

namespace reveza::jobs {
namespace {

using namespace std::chrono_literals;

// Returns whether the attempt could not be started for lack of a resource, whose errno is `code`.
bool WasNotStarted(const AttemptResult& result) {
  return result.outcome == Outcome::kCancelled && result.pid == 0 && result.code != 0;
}

}  // namespace

void Engine::HandleEvent(const WorkerPool::Event& event) {
  for (const auto& frame : event.frames) Handle(event.slot, frame);
  if (event.exited) OnSupervisorExit(event.slot);
}

void Engine::Handle(std::size_t slot, const Frame& frame) {
  auto& active = pool_.slots()[slot].active;
  if (!active) return;
  switch (frame.kind) {
    case FrameKind::kStarted:
      return OnStarted(*active, frame);
    case FrameKind::kCycle:
      if (const auto cycle = Unpack<CycleResult>(frame.body)) OnCycle(*active, *cycle);
      return;
    case FrameKind::kResult:
      if (const auto result = Unpack<AttemptResult>(frame.body)) OnResult(slot, *result);
      return;
    case FrameKind::kNoGroup:
      active->group.clear();
      if (!std::exchange(reported_no_group_, true)) {
        observer_.OnNote(fmt::format("step {} has no control group and is watched instead: {}",
                                     active->label, frame.body));
      }
      return;
    case FrameKind::kGroup:
      if (const auto end = Unpack<GroupStats>(frame.body)) {
        active->group_end = *end;
        active->group_reported = true;
      }
      return;
    case FrameKind::kLimits:
      return active->evidence.AddLimits(frame.body);
    case FrameKind::kRecordError:
      return EnterDegradedMode({Error::Code::kExhausted, frame.body});
    case FrameKind::kRefused:
      observer_.OnNote(fmt::format("step {} was not started: {}", active->label, frame.body));
      backoff_.Delay(Now());
      schedule_.Requeue(active->step);
      return pool_.Clear(slot);
    default:
      return;
  }
}

void Engine::OnStarted(ActiveAttempt& active, const Frame& frame) {
  std::uint32_t pid = 0;
  if (frame.body.size() == sizeof(pid)) std::memcpy(&pid, frame.body.data(), sizeof(pid));
  active.pid = static_cast<pid_t>(pid);
  backoff_.OnStarted();
}

void Engine::OnCycle(ActiveAttempt& active, const CycleResult& cycle) {
  active.last_cycle = std::max(active.last_cycle, cycle.number);
  // The time of receipt: the wall clock in the frame may be set meanwhile.
  const auto before = std::exchange(active.last_cycle_at, Now());
  if (before.count() != 0) governor_.OnCycleFinished(active.last_cycle_at - before);
  const auto noted = parts_.journal.RecordCycle(cycle);
  if (!noted) EnterDegradedMode(noted.error());
  if (noted && *noted) cycles_.Add(active.step);
  const std::vector<Metric> metrics = MetricsOf(cycle);
  metrics_.Add(cycle.number, metrics);
  for (const Metric& metric : metrics) CheckGoal(metric, active.label);
  observer_.OnCycle(ReportOf(active.step, active.name.attempt), cycle);
}

void Engine::OnResult(std::size_t slot, AttemptResult result) {
  auto& running = pool_.slots()[slot].active;
  if (!running) return;
  if (result.name != running->name) return;
  const ActiveAttempt active = std::move(*running);
  pool_.Clear(slot);
  cpu_of_ended_ += Nanoseconds(result.user_time + result.system_time);
  const auto files = Outputs() / list_.FilesOf(active.step);
  const Explanation explanation = Explain(active, result, files, refusals_, parts_.root);
  result.outcome = explanation.outcome;
  AttemptExtra extra;
  extra.boot = boot_;
  extra.peak = PeakMemory(active, result);
  unrecorded_.push_back({result, extra, files});
  // A success is journaled while the next step starts. What is decided about others needs their
  // attempts in the journal.
  if (result.outcome != Outcome::kSuccess) RecordEnded();
  ++ended_here_;
  UpdateBriefCommands(active, result);
  governor_.OnStepEnded(Now(), active.step, result, active.need,
                        {extra.peak.value_or(0), active.gpu_peak.value_or(0), explanation.gpu_oom,
                         active.exceeded_limit || (active.limit && active.group_end.at_limit)});
  if (WasNotStarted(result)) {
    const std::string reason = SystemError("cannot start steps now", result.code).message;
    if (backoff_.SetReason(reason)) {
      observer_.OnNote(fmt::format("{} (step {}); will retry", reason, active.label));
    }
    backoff_.DelayExponentially(Now());
  }
  if (result.outcome == Outcome::kCancelled && result.pid != 0 && !active.ending) {
    // This process may be about to get it too: see termination.h.
    if (backoff_.SetReason("a step was ended by SIGTERM")) {
      observer_.OnNote(fmt::format("step {} was ended by SIGTERM; will retry", active.label));
    }
    backoff_.Delay(Now());
  }
  const bool will_retry = RecordOutcome(active.step, result, active.first_cycle);
  observer_.OnEnd(ReportOf(active.step, result.name.attempt), result, will_retry, explanation.text);
  governor_.Update(Now(), WaitingByLane(), Running());
}

void Engine::RecordEnded() {
  for (EndedAttempt& ended : unrecorded_) {
    // Without a hash the step runs again after a power cut.
    ended.extra.output_hash = HashOutputs(ended.files, ended.result).value_or(0);
    const auto noted = parts_.journal.RecordAttempt(ended.result, ended.extra);
    if (!noted) EnterDegradedMode(noted.error());
  }
  unrecorded_.clear();
}

// The record tells what the supervisor wrote last and whether its step is still alive.
void Engine::OnSupervisorExit(std::size_t slot) {
  // The record has no hashes of outputs.
  RecordEnded();
  const auto active = pool_.slots()[slot].active;
  const auto reaped = pool_.Reap(slot);
  if (!active) return;
  std::error_code error;
  if (!std::filesystem::exists(reaped.record, error) && !error) {
    observer_.OnNote(
        fmt::format("the supervisor of step {} {} before it created its record; the step was not "
                    "started and is requeued",
                    active->label, reaped.end));
    backoff_.Delay(Now());
    return schedule_.Requeue(active->step);
  }
  observer_.OnNote(fmt::format("the supervisor of step {} {}", active->label, reaped.end));
  adopted_.Add({active->name, active->since, reaped.record});
}

void Engine::PollAdoptedAttempts() {
  auto polled = adopted_.Poll(Now(), parts_.journal, [this](const Identity& identity) {
    return StepOf(identity).has_value();
  });
  for (const auto& note : polled.notes) observer_.OnNote(note);
  for (const auto& error : polled.errors) EnterDegradedMode(error);
  for (const auto& result : polled.ended) {
    const std::uint32_t step = *StepOf(result.name.identity);
    RestoreCycles(step);
    auto& status = list_[step];
    status.attempts = std::max(status.attempts, result.name.attempt);
    const bool will_retry = RecordOutcome(step, result, 0);
    observer_.OnEnd(ReportOf(step, result.name.attempt), result, will_retry, "");
  }
}

bool Engine::RecordOutcome(std::uint32_t step, const AttemptResult& result,
                           std::uint64_t first_cycle) {
  if (result.outcome == Outcome::kSuccess) {
    schedule_.Finish(step);
    cycles_.Finish(step);
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
  if (ShouldRetry(step, result, first_cycle)) {
    // If this cannot be written now, the next runner decides again.
    if (auto forgotten = parts_.journal.Requeue(list_[step].identity); !forgotten) {
      EnterDegradedMode(forgotten.error());
    }
    schedule_.Requeue(step);
    return true;
  }
  if (auto given_up = parts_.journal.MarkFailed(list_[step].identity); !given_up) {
    EnterDegradedMode(given_up.error());
  }
  schedule_.Fail(step);
  CheckHalt();
  return false;
}

bool Engine::ShouldRetry(std::uint32_t step, const AttemptResult& result,
                         std::uint64_t first_cycle) {
  if (const auto& cycles = CommandOf(step).cycles) {
    const auto first = parts_.journal.FirstMissingCycle(list_[step].identity, cycles->count);
    // An attempt that made progress is always continued.
    if (first && *first > first_cycle && *first <= cycles->count) return true;
  }
  return retries_.RecordFailure(step, result.outcome);
}

void Engine::UpdateBriefCommands(const ActiveAttempt& active, const AttemptResult& result) {
  constexpr Nanoseconds kMaxBrief = 100ms;
  const auto command = job_.steps[active.step].command;
  if (Nanoseconds(result.ended - result.began) >= kMaxBrief) {
    brief_commands_.erase(command);
  } else if (result.outcome == Outcome::kSuccess) {
    brief_commands_.insert(command);
  }
}

void Engine::CheckGoal(const Metric& metric, std::string_view label) {
  const auto& halt = parts_.request.halt;
  if (!halt.goal || goal_met_ || metric.name != halt.goal->metric) return;
  if (!halt.goal->IsMetBy(metric.value)) return;
  goal_met_ = true;
  run_.reason = fmt::format("step {} reported {}={:g}, and --halt asks for {}", label, metric.name,
                            metric.value, ToText(*halt.goal));
  observer_.OnNote(fmt::format("no further steps start: {}", run_.reason));
  if (halt.mode == Halt::Mode::kNow) {
    CancelAll();
  } else if (mode_ != Mode::kEnding) {
    mode_ = Mode::kDraining;
  }
}

Status Engine::CheckEarlierGoal() {
  if (!parts_.request.halt.goal) return {};
  for (std::uint32_t step = 0; step < list_.size(); ++step) {
    ASSIGN_OR_RETURN(const auto cycles, parts_.journal.Cycles(list_[step].identity));
    for (const CycleResult& cycle : cycles) {
      for (const Metric& metric : MetricsOf(cycle)) CheckGoal(metric, LabelOf(job_, step));
    }
    if (goal_met_) return {};
  }
  return {};
}

void Engine::CheckHalt() {
  const auto& halt = parts_.request.halt;
  const auto failed = schedule_.counts().failed;
  if (mode_ == Mode::kEnding || !halt.IsReachedBy(failed, job_.steps.size())) return;
  run_.reason = fmt::format("{} steps failed, and --halt allows no more", failed);
  observer_.OnNote(fmt::format("halting the job: {} steps failed", failed));
  halted_ = true;
  if (halt.mode == Halt::Mode::kNow) {
    CancelAll();
  } else {
    mode_ = Mode::kDraining;
  }
}

}  // namespace reveza::jobs
