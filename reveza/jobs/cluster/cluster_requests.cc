// Requests at the control socket, and progress.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/units.h"
#include "reveza/jobs/cluster/cluster_run.h"
#include "reveza/jobs/engine/runner.h"
#include "reveza/jobs/engine/status_report.h"

namespace reveza::jobs {

Result<std::uint64_t> ClusterRun::Retry(const nlohmann::json& steps) {
  ASSIGN_OR_RETURN(const auto chosen, StepsToRetry(steps, schedule_));
  for (const std::uint32_t step : chosen) {
    RETURN_IF_ERROR(parts_.journal.Requeue(list_[step].identity));
    retries_.Reset(step);
    returned_.erase(step);
    schedule_.Revive(step);
  }
  return chosen.size();
}

Result<std::uint64_t> ClusterRun::AddNewlyListedSteps() {
  const std::size_t before = list_.size();
  ASSIGN_OR_RETURN(const auto added, AppendListedSteps(parts_, list_));
  if (added == 0) return 0;
  schedule_.AddNewSteps();
  for (std::size_t step = before; step < list_.size(); ++step) {
    RETURN_IF_ERROR(RestoreState(static_cast<std::uint32_t>(step)));
  }
  return added;
}

nlohmann::json ClusterRun::Answer(const nlohmann::json& request) {
  const auto found = request.find("request");
  const std::string what =
      found != request.end() && found->is_string() ? found->get<std::string>() : "";
  if (what == "status") return RunnerStatus();
  if (what == "tune") return {{"text", ""}};
  if (what == "stop" || what == "cancel") {
    if (what == "stop") {
      Drain();
    } else {
      CancelAll();
    }
    return {{"ok", true}};
  }
  if (what == "retry" || what == "add") {
    if (mode_ != Mode::kRunning) return {{"error", "the job is ending"}};
    const auto steps =
        what == "add" ? AddNewlyListedSteps() : Retry(request.value("steps", nlohmann::json()));
    if (!steps) return {{"error", steps.error().message}};
    return {{"ok", true}, {"steps", *steps}};
  }
  if (what == "pause" || what == "resume") {
    return {{"error",
             fmt::format("jobs on {} cannot be paused; `reveza jobs stop` ends this one, and the "
                         "same command continues it",
                         settings_.engine->name())}};
  }
  return {{"error", fmt::format("unknown request '{}'; valid: status, tune, retry, add, stop, "
                                "cancel",
                                what)}};
}

std::uint64_t ClusterRun::CountTasks(TaskState state) const {
  std::uint64_t count = 0;
  for (const Array& array : arrays_) {
    count += static_cast<std::uint64_t>(std::ranges::count(array.tasks, state, &Task::state));
  }
  return count;
}

std::string ClusterRun::WaitingReason() const {
  if (!trouble_.empty()) return trouble_;
  const auto pending = CountTasks(TaskState::kPending);
  if (pending == 0) return {};
  std::string reason;
  for (const Array& array : arrays_) {
    for (const Task& task : array.tasks) {
      if (task.state == TaskState::kPending && !task.reason.empty()) reason = task.reason;
    }
  }
  return fmt::format("{} in {}'s queue{}", Plural(pending, "task"), settings_.engine->name(),
                     reason.empty() || reason == "None" ? "" : fmt::format(" ({})", reason));
}

Progress ClusterRun::CurrentProgress() const {
  const auto& counts = schedule_.counts();
  Progress progress;
  progress.name = parts_.folder.id();
  progress.steps = job_.steps.size();
  progress.done = counts.done;
  progress.done_before = summary_.done_before;
  progress.failed = counts.failed;
  // A task runs its steps one after another.
  progress.running = std::min(CountTasks(TaskState::kRunning), counts.running);
  progress.waiting = counts.ready + counts.blocked + counts.running - progress.running;
  progress.waiting_reason = WaitingReason();
  progress.elapsed = clock_.Now() - began_;
  if (ended_here_ > 0) {
    progress.rate = static_cast<double>(ended_here_) / std::max(1e-3, Seconds(progress.elapsed));
  }
  return progress;
}

nlohmann::json ClusterRun::RunnerStatus() const {
  const Progress progress = CurrentProgress();
  nlohmann::json running = nlohmann::json::array();
  std::size_t tasks = 0;
  for (const Array& array : arrays_) {
    tasks += array.tasks.size();
    for (const Task& task : array.tasks) {
      if (task.state != TaskState::kRunning) continue;
      for (const auto& [step, attempts] : task.steps) {
        running.push_back({{"step", step + 1},
                           {"label", LabelOf(job_, step)},
                           {"attempt", attempts + 1},
                           {"pid", nullptr},
                           {"state", "running"},
                           {"since", nullptr},
                           {"memory", nullptr},
                           {"peak", nullptr},
                           {"limit", nullptr},
                           {"claim", nullptr},
                           {"cycle", nullptr}});
      }
    }
  }
  Schedule::Counts counts = schedule_.counts();
  counts.ready += counts.running - progress.running;
  counts.running = progress.running;
  nlohmann::json status =
      CommonStatusJson(job_, counts, progress, mode_ == Mode::kRunning ? "running" : "stopping",
                       fmt::format("by {}", settings_.engine->name()));
  status["workers"] = {{"now", progress.running},
                       {"best", tasks},
                       {"settled", true},
                       {"reason", nullptr},
                       {"lanes", nlohmann::json::object()}};
  status["running"] = std::move(running);
  return status;
}

}  // namespace reveza::jobs
