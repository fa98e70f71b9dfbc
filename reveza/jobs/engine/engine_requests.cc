// Requests at the control socket.
#include <fmt/format.h>

#include <algorithm>

#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/runner.h"
#include "reveza/jobs/journal/journal_format.h"

namespace reveza::jobs {

Result<std::uint64_t> Engine::Retry(const nlohmann::json& steps) {
  ASSIGN_OR_RETURN(const auto chosen, StepsToRetry(steps, schedule_));
  for (const auto step : chosen) {
    if (auto forgotten = parts_.journal.Requeue(list_[step].identity); !forgotten) {
      EnterDegradedMode(forgotten.error());
      return std::unexpected(forgotten.error());
    }
    retries_.Reset(step);
    schedule_.Revive(step);
  }
  return chosen.size();
}

Result<std::uint64_t> Engine::AddNewlyListedSteps() {
  const std::size_t before = list_.size();
  const auto added = AppendListedSteps(parts_, list_);
  if (!added || *added == 0) return added;
  governor_.AddNewCommands();
  schedule_.AddNewSteps();
  for (std::size_t step = before; step < list_.size(); ++step) {
    RestoreState(static_cast<std::uint32_t>(step));
  }
  return added;
}

nlohmann::json Engine::Pause(bool pause) {
  mode_ = pause ? Mode::kPaused : Mode::kRunning;
  for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
    auto& active = pool_.slots()[slot].active;
    if (!active || active->holds_gpu) continue;
    active->paused = pause;
    pool_.Send(slot, pause ? FrameKind::kPause : FrameKind::kContinue);
  }
  waiting_reason_ = pause ? PausedText() : std::string();
  nlohmann::json answer = {{"ok", true}};
  if (!pause) return answer;
  if (const auto on_gpu = RunningOnGpu(); on_gpu > 0) answer["on_gpu"] = on_gpu;
  if (RunningOnGpu() > 0 || !adopted_.empty()) answer["note"] = waiting_reason_;
  return answer;
}

std::uint64_t Engine::RunningOnGpu() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      pool_.slots(), [](const auto& slot) { return slot.active && slot.active->holds_gpu; }));
}

std::string Engine::PausedText() const {
  std::string text = "the job is paused";
  const auto add = [&](std::uint64_t steps, const char* where) {
    if (steps == 1) text += fmt::format("; a step {} runs to its end", where);
    if (steps > 1) text += fmt::format("; {} steps {} run to their end", steps, where);
  };
  add(RunningOnGpu(), "on a GPU");
  add(adopted_.all().size(), "of the previous runner");
  return text;
}

nlohmann::json Engine::Answer(const nlohmann::json& request) {
  const auto found = request.find("request");
  const std::string what =
      found != request.end() && found->is_string() ? found->get<std::string>() : "";
  if (what == "status") {
    const auto running = Running();
    const auto by_lane = RunningByLane();
    return StatusJson(View(running, by_lane));
  }
  if (what == "tune") return {{"text", TuningText(governor_, began_)}};
  if (what == "cancel") {
    CancelAll();
    return {{"ok", true}};
  }
  if (what == "stop") {
    Drain();
    return {{"ok", true}};
  }
  if (what == "pause" || what == "resume" || what == "retry" || what == "add") {
    if (mode_ != Mode::kRunning && mode_ != Mode::kPaused) return {{"error", "the job is ending"}};
    if (what == "pause" || what == "resume") return Pause(what == "pause");
    const auto steps =
        what == "add" ? AddNewlyListedSteps() : Retry(request.value("steps", nlohmann::json()));
    if (!steps) return {{"error", steps.error().message}};
    return {{"ok", true}, {"steps", *steps}};
  }
  return {{"error", fmt::format("unknown request '{}'; valid: status, tune, pause, resume, retry, "
                                "add, stop, cancel",
                                what)}};
}

}  // namespace reveza::jobs
