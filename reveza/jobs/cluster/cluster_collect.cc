// What comes back: states of tasks from the engine, attempts from the shared folder, and what
// becomes of steps.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "common/base/units.h"
#include "reveza/jobs/cluster/cluster_run.h"
#include "reveza/jobs/definition/identity.h"

namespace reveza::jobs {
namespace {

// A task that one answer of the engine lacks may be in the next: its controller was restarted.
constexpr unsigned kMaxUnlisted = 2;
// So often may a step come back without having ended by itself, unless a node was lost.
constexpr unsigned kMaxReturns = 3;

// Returns whether the engine ended a task before its steps had.
bool IsInterrupted(TaskState state) {
  return state == TaskState::kCancelled || state == TaskState::kTimeLimit ||
         state == TaskState::kNodeLost;
}

// Returns what an attempt came to, if the engine has ended its task: it kills all processes, and
// the runner in the task cannot always say why a step was killed.
Outcome OutcomeIn(TaskState state, const AttemptResult& result) {
  const bool killed = result.outcome == Outcome::kUnknown || result.outcome == Outcome::kSignal ||
                      result.outcome == Outcome::kCancelled;
  if (killed && state == TaskState::kOutOfMemory) return Outcome::kMemory;
  if (result.outcome == Outcome::kSignal && IsInterrupted(state)) return Outcome::kCancelled;
  return result.outcome;
}

// Returns the last line of a file; "" if it has none.
std::string LastLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return EscapeControls(last);
}

}  // namespace

Status ClusterRun::Query() {
  if (arrays_.empty() || clock_.Now() < next_query_) return {};
  std::vector<ArrayPlace> places;
  for (const Array& array : arrays_) {
    if (!array.tasks.empty()) places.push_back(array.place);
  }
  const auto reports = settings_.engine->Tasks(places);
  next_query_ = clock_.Now() + settings_.query_interval;
  if (!reports) {
    trouble_ = reports.error().message;
    ReportOnce(trouble_ + "; tasks that run go on, and nothing is lost; will ask again");
    return {};
  }
  if (!std::exchange(trouble_, {}).empty())
    ReportOnce(fmt::format("{} answers again", settings_.engine->name()));
  Apply(*reports);
  for (Array& array : arrays_) {
    if (array.submitted && !WasSubmitted(array.place.folder)) {
      RETURN_IF_ERROR(MarkSubmitted(array.place.folder));
    }
  }
  return {};
}

void ClusterRun::Apply(const std::vector<TaskReport>& reports) {
  std::map<std::pair<std::string_view, std::uint32_t>, const TaskReport*> known;
  for (const TaskReport& report : reports) {
    // An array that was submitted twice, because the first answer was lost, is as alive as either.
    const std::string_view name = report.array;
    const auto [place, is_new] = known.emplace(std::pair(name, report.task), &report);
    if (!is_new && IsAlive(report.state)) place->second = &report;
  }
  for (Array& array : arrays_) {
    std::optional<std::vector<TaskReport>> past;
    for (Task& task : array.tasks) {
      const auto found = known.find({std::string_view(array.place.name), task.place.shard.index});
      if (found != known.end()) {
        const TaskReport& report = *found->second;
        array.submitted = true;
        task.state = report.state;
        task.reason = report.reason;
        task.unlisted = 0;
        task.is_gone = report.is_gone;
        if (report.memory) task.memory = report.memory;
        continue;
      }
      if (!array.submitted || !IsAlive(task.state) || ++task.unlisted < kMaxUnlisted) continue;
      // Engines forget tasks some time after their end, and all of them if they lose their state.
      task.state = TaskState::kNodeLost;
      if (!past) past = settings_.engine->PastTasks(array.place);
      for (const TaskReport& report : *past) {
        if (report.task == task.place.shard.index) task.state = report.state;
      }
    }
  }
}

Status ClusterRun::Look() {
  if (clock_.Now() < next_look_) return {};
  next_look_ = clock_.Now() + settings_.look_interval;
  for (Array& array : arrays_) {
    if (!array.submitted && mode_ != Mode::kRunning && trouble_.empty()) {
      RETURN_IF_ERROR(PutBack(array));
      continue;
    }
    for (Task& task : array.tasks) RETURN_IF_ERROR(LookAt(array, task));
    std::erase_if(array.tasks, [](const Task& task) { return task.steps.empty(); });
    if (array.tasks.empty()) RETURN_IF_ERROR(EndArray(array.number));
  }
  std::erase_if(arrays_, [](const Array& array) { return array.tasks.empty(); });
  return {};
}

Status ClusterRun::PutBack(Array& array) {
  for (const Task& task : array.tasks) {
    for (const auto& [step, attempts] : task.steps) RETURN_IF_ERROR(Requeue(step));
  }
  array.tasks.clear();
  return {};
}

Status ClusterRun::LookAt(Array& array, Task& task) {
  const bool has_ended = array.submitted && !IsAlive(task.state);
  if (has_ended && !task.is_gone) {
    // It may yet start: where nodes and the engine have lost sight of each other.
    const Status revoked = task.state == TaskState::kNodeLost ? RevokeTask(task.place) : Status{};
    const auto alive =
        revoked ? HasLiveProcess(task.place) : Result<bool>(std::unexpected(revoked.error()));
    if (!alive) ReportOnce(alive.error().message);
    // Steps may outlive what the engine knows of them; none is started beside itself.
    if (alive.value_or(true)) {
      ReportOnce(
          fmt::format("task {} of {} has ended on {}, but processes of it are alive; "
                      "waiting for them",
                      task.place.shard.index, array.place.name, settings_.engine->name()));
      return {};
    }
  }
  const bool is_explained = task.state != TaskState::kEnded && task.state != TaskState::kNodeLost;
  if (has_ended && !is_explained && settings_.engine->SaysOutOfMemory(task.place.log())) {
    task.state = TaskState::kOutOfMemory;
  }
  const std::int64_t before = parts_.journal.last_sequence();
  if (const auto imported = ImportCopy(task.place, parts_.journal, task.seen); !imported) {
    // The records say the same, but for the memory that steps took.
    if (imported.error().code != Error::Code::kIncompatible) return imported;
    ReportOnce(imported.error().message);
  }
  if (has_ended) RETURN_IF_ERROR(ImportRest(task.place, parts_.journal));
  RETURN_IF_ERROR(TakeAttempts(task, before));
  return has_ended ? Settle(array, task) : Status{};
}

Status ClusterRun::TakeAttempts(Task& task, std::int64_t after) {
  if (parts_.journal.last_sequence() == after) return {};
  ASSIGN_OR_RETURN(const auto attempts, parts_.journal.AttemptsAfter(after));
  for (const AttemptEntry& attempt : attempts) {
    const auto step = list_.Find(attempt.result.name.identity);
    if (step && task.steps.contains(*step)) RETURN_IF_ERROR(TakeAttempt(task, *step, attempt));
  }
  return {};
}

Status ClusterRun::TakeAttempt(Task& task, std::uint32_t step, const AttemptEntry& entry) {
  const AttemptResult& result = entry.result;
  ASSIGN_OR_RETURN(const auto found, parts_.journal.Find(result.name.identity));
  if (found) list_.Set(step, *found);
  Learn(step, entry);
  ++ended_here_;
  observer_.OnStart(ReportOf(step, result.name.attempt));
  // Another step has ended after it, so it was not ended with the task.
  if (task.failed != step) RETURN_IF_ERROR(SettleFailed(task));
  task.failed.reset();
  if (result.outcome == Outcome::kSuccess) {
    observer_.OnEnd(ReportOf(step, result.name.attempt), result, false, "");
    task.steps.erase(step);
    task.undecided.erase(step);
    task.progressed = true;
    schedule_.Finish(step);
    return {};
  }
  task.undecided[step] = result;
  if (!EndedByItself(result.outcome)) return {};
  // The runner in the task decides by the same rule.
  if (retries_.RecordFailure(step, result.outcome)) {
    observer_.OnEnd(ReportOf(step, result.name.attempt), result, true, "");
  } else {
    task.failed = step;
  }
  return {};
}

Status ClusterRun::SettleFailed(Task& task) {
  const auto step = std::exchange(task.failed, std::nullopt);
  if (!step) return {};
  const AttemptResult result = task.undecided.at(*step);
  observer_.OnEnd(ReportOf(*step, result.name.attempt), result, false, "");
  task.steps.erase(*step);
  task.undecided.erase(*step);
  return FailStep(*step);
}

Status ClusterRun::Settle(const Array& array, Task& task) {
  // The engine sends its signals to all processes, and a step may fail because of them.
  if (!IsInterrupted(task.state)) RETURN_IF_ERROR(SettleFailed(task));
  for (const auto& [step, attempts] : std::exchange(task.steps, {})) {
    const auto result = task.undecided.find(step);
    if (result == task.undecided.end()) {
      RETURN_IF_ERROR(SettleLost(task, step));
    } else {
      RETURN_IF_ERROR(SettleAttempt(array, task, step, result->second));
    }
  }
  return {};
}

Status ClusterRun::SettleAttempt(const Array& array, Task& task, std::uint32_t step,
                                 AttemptResult result) {
  if (task.failed == step) return SettleLost(task, step);
  if (EndedByItself(result.outcome)) return Requeue(step);
  result.outcome = OutcomeIn(task.state, result);
  if (task.state == TaskState::kOutOfMemory) {
    const auto given = std::max(array.resources.memory.value_or(0), task.memory.value_or(0));
    ASSIGN_OR_RETURN(const auto attempts, parts_.journal.Attempts(result.name.identity));
    const auto peak = attempts.empty() ? std::nullopt : attempts.back().extra.peak;
    claims_.RecordOom(job_.steps[step].command, peak, given);
  }
  if (result.outcome == Outcome::kCancelled) return SettleLost(task, step);
  bool again = false;
  if (result.outcome == Outcome::kUnknown) {
    again = parts_.request.on_unknown == OnUnknown::kRetry;
    if (again && task.state == TaskState::kTimeLimit) return SettleLost(task, step);
  } else {
    ASSIGN_OR_RETURN(const auto cycles, parts_.journal.Cycles(result.name.identity));
    const bool progressed = std::ranges::any_of(cycles, [&](const CycleResult& cycle) {
      return cycle.name.attempt == result.name.attempt;
    });
    // An attempt that made progress is always continued.
    again = progressed || retries_.RecordFailure(step, result.outcome);
  }
  observer_.OnEnd(ReportOf(step, result.name.attempt), result, again, "");
  if (again) return Requeue(step);
  if (result.outcome != Outcome::kUnknown) return FailStep(step);
  schedule_.Hold(step);
  return {};
}

// Of a step that did not start, or that was ended with its task.
Status ClusterRun::SettleLost(const Task& task, std::uint32_t step) {
  const bool is_ours = task.state == TaskState::kCancelled && mode_ != Mode::kRunning;
  // A task that ended steps leaves the next one fewer.
  const bool counts = !is_ours && !task.progressed && task.state != TaskState::kNodeLost;
  if (!counts || ++returned_[step] < kMaxReturns) return Requeue(step);
  const std::string said = LastLine(task.place.log());
  Report(fmt::format(
      "step {} never runs: its task ended {} times {}{}", LabelOf(job_, step), kMaxReturns,
      task.state == TaskState::kTimeLimit
          ? fmt::format("at the time limit of {}; {}", settings_.engine->name(),
                        settings_.engine->time_limit_advice())
          : fmt::format("without a result; its log is {}", task.place.log().string()),
      !said.empty()         ? fmt::format(", which ends with \"{}\"", said)
      : task.reason.empty() ? fmt::format("; does every node see {}?", settings_.folder.string())
                            : fmt::format("; {} says: {}", settings_.engine->name(), task.reason)));
  return FailStep(step);
}

Status ClusterRun::Requeue(std::uint32_t step) {
  schedule_.Requeue(step);
  ASSIGN_OR_RETURN(const auto found, parts_.journal.Find(list_[step].identity));
  if (found) list_.Set(step, *found);
  return parts_.journal.Requeue(list_[step].identity);
}

Status ClusterRun::FailStep(std::uint32_t step) {
  schedule_.Fail(step);
  RETURN_IF_ERROR(parts_.journal.MarkFailed(list_[step].identity));
  CheckHalt();
  return {};
}

void ClusterRun::Learn(std::uint32_t step, const AttemptEntry& entry) {
  const Shape shape = job_.steps[step].command;
  if (entry.result.outcome == Outcome::kSuccess) {
    claims_.RecordSuccess(shape, entry.extra.peak, std::nullopt);
  } else if (entry.result.outcome == Outcome::kMemory) {
    claims_.RecordOom(shape, entry.extra.peak, CommandOf(step).claim.memory.value_or(0));
  }
}

void ClusterRun::CheckHalt() {
  const Halt& halt = parts_.request.halt;
  const auto failed = schedule_.counts().failed;
  if (mode_ != Mode::kRunning || !halt.IsReachedBy(failed, job_.steps.size())) return;
  run_.reason = fmt::format("{} steps failed, and --halt allows no more", failed);
  Report(fmt::format("halting the job: {} steps failed", failed));
  halted_ = true;
  if (halt.mode == Halt::Mode::kNow) {
    CancelAll();
  } else {
    Drain();
  }
}

StepReport ClusterRun::ReportOf(std::uint32_t step, std::uint32_t attempt) const {
  return {step, LabelOf(job_, step), attempt, list_.FilesOf(step)};
}

}  // namespace reveza::jobs
