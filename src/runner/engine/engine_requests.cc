// What others ask of the engine at its control socket.
#include <fmt/format.h>

#include <algorithm>

#include "runner/engine/added_steps.h"
#include "runner/engine/engine.h"
#include "runner/journal/journal_format.h"

namespace reveza::runner {

Result<std::uint64_t> Engine::Retry(const nlohmann::json& steps) {
  std::vector<std::uint32_t> chosen;
  if (steps.is_array()) {
    for (const auto& step : steps) {
      if (!step.is_number_unsigned() || step.get<std::uint64_t>() - 1 >= job_.steps.size()) {
        return Fail(
            Error::Code::kInvalidArgument,
            fmt::format("there is no step {}; there are 1 to {}", step.dump(), job_.steps.size()));
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
    if (auto forgotten = parts_.journal.Forget(entries_[step].identity); !forgotten) {
      BeInTrouble(forgotten.error());
      return std::unexpected(forgotten.error());
    }
    failures_.erase(step);
    memory_deaths_.erase(step);
    schedule_.Revive(step);
    ++retried;
  }
  return retried;
}

Result<std::uint64_t> Engine::TakeAdded() {
  const std::size_t steps = job_.steps.size();
  const std::size_t commands = job_.commands.size();
  const auto give_up = [&](const Error& error) -> std::unexpected<Error> {
    job_.steps.resize(steps);
    job_.commands.resize(commands);
    parts_.identities.resize(steps);
    entries_.resize(steps);
    return std::unexpected(error);
  };
  const auto merged = MergeAdded(parts_.journal, job_, parts_.identities);
  if (!merged) return give_up(merged.error());
  if (*merged == 0) return 0;
  auto expander = Expander::Make(job_);
  if (!expander) return give_up(expander.error());
  std::vector<ListedStep> listed;
  for (std::size_t i = steps; i < job_.steps.size(); ++i) {
    listed.push_back({parts_.identities[i], LabelOf(job_, static_cast<std::uint32_t>(i))});
  }
  // Whoever added them has listed them, unless what decides their identity differs here.
  if (auto came = parts_.journal.Append(listed); !came) return give_up(came.error());
  for (const auto& step : listed) {
    const auto entry = parts_.journal.Find(step.identity);
    if (!entry) return give_up(entry.error());
    if (!*entry) return give_up({Error::Code::kInternal, "a step that was added is not listed"});
    entries_.push_back(**entry);
  }
  *parts_.expander = *std::move(expander);
  governor_.TakeNewCommands();
  schedule_.TakeNewSteps();
  for (std::size_t i = steps; i < entries_.size(); ++i) {
    const auto step = static_cast<std::uint32_t>(i);
    by_identity_.emplace(AsText(entries_[step].identity), step);
    TakeState(step);
  }
  return merged;
}

nlohmann::json Engine::Pause(bool pause) {
  mode_ = pause ? Mode::kPaused : Mode::kRunning;
  for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
    auto& active = pool_.slots()[slot].active;
    if (!active || active->holds_gpu) continue;
    active->paused = pause;
    pool_.Tell(slot, pause ? FrameKind::kPause : FrameKind::kContinue);
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
  if (what == "status") return StatusJson();
  if (what == "tune") return {{"text", TuningText()}};
  if (what == "cancel") {
    EndAll();
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
        what == "add" ? TakeAdded() : Retry(request.value("steps", nlohmann::json()));
    if (!steps) return {{"error", steps.error().message}};
    return {{"ok", true}, {"steps", *steps}};
  }
  return {{"error", fmt::format("unknown request '{}'; there are status, tune, pause, resume, "
                                "retry, add, stop and cancel",
                                what)}};
}

}  // namespace reveza::runner
