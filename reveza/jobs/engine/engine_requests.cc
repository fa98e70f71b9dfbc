// Requests at the control socket.
#include <fmt/format.h>

#include <algorithm>

#include "reveza/jobs/engine/added_steps.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/journal/journal_format.h"

namespace reveza::jobs {

Result<std::uint64_t> Engine::Retry(const nlohmann::json& steps) {
  std::vector<std::uint32_t> chosen;
  if (steps.is_array()) {
    for (const auto& step : steps) {
      if (!step.is_number_unsigned() || step.get<std::uint64_t>() - 1 >= job_.steps.size()) {
        return Fail(Error::Code::kInvalidArgument, "no step {}; valid: 1 to {}", step.dump(),
                    job_.steps.size());
      }
      chosen.push_back(static_cast<std::uint32_t>(step.get<std::uint64_t>() - 1));
    }
  } else {
    for (std::uint32_t step = 0; step < job_.steps.size(); ++step) chosen.push_back(step);
  }
  std::uint64_t retried = 0;
  for (const auto step : chosen) {
    const auto state = schedule_.state(step);
    if (state != Schedule::State::kFailed && state != Schedule::State::kHeld) continue;
    if (auto forgotten = parts_.journal.Requeue(entries_[step].identity); !forgotten) {
      EnterDegradedMode(forgotten.error());
      return std::unexpected(forgotten.error());
    }
    retries_.Reset(step);
    schedule_.Revive(step);
    ++retried;
  }
  return retried;
}

Result<std::uint64_t> Engine::AddNewlyListedSteps() {
  const std::size_t steps = job_.steps.size();
  const std::size_t commands = job_.commands.size();
  const auto roll_back = [&](const Error& error) -> std::unexpected<Error> {
    job_.steps.resize(steps);
    job_.commands.resize(commands);
    parts_.identities.resize(steps);
    entries_.resize(steps);
    return std::unexpected(error);
  };
  const auto merged = MergeAddedSteps(parts_.journal, job_, parts_.identities);
  if (!merged) return roll_back(merged.error());
  if (*merged == 0) return 0;
  auto expander = Expander::Make(job_);
  if (!expander) return roll_back(expander.error());
  const auto listed = ListSteps(job_, parts_.identities, steps);
  // They are listed already, unless their identities are computed differently here.
  if (auto appended = parts_.journal.Append(listed); !appended) return roll_back(appended.error());
  for (const auto& step : listed) {
    const auto entry = parts_.journal.Find(step.identity);
    if (!entry) return roll_back(entry.error());
    if (!*entry) return roll_back({Error::Code::kInternal, "an added step is not listed"});
    entries_.push_back(**entry);
  }
  *parts_.expander = *std::move(expander);
  governor_.AddNewCommands();
  schedule_.AddNewSteps();
  by_identity_.Build(entries_);
  for (std::size_t step = steps; step < entries_.size(); ++step) {
    RestoreState(static_cast<std::uint32_t>(step));
  }
  return merged;
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
  if (const auto on_gpu = RunningOnGpu(); pause && on_gpu > 0) {
    answer["on_gpu"] = on_gpu;
    answer["note"] = waiting_reason_;
  }
  return answer;
}

std::uint64_t Engine::RunningOnGpu() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      pool_.slots(), [](const auto& slot) { return slot.active && slot.active->holds_gpu; }));
}

std::string Engine::PausedText() const {
  const auto on_gpu = RunningOnGpu();
  if (on_gpu == 0) return "the job is paused";
  if (on_gpu == 1) return "the job is paused; a step on a GPU runs to its end";
  return fmt::format("the job is paused; {} steps on a GPU run to their end", on_gpu);
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
