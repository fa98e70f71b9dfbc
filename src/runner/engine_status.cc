// What the engine says of itself: progress, and answers at the control socket.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "platform/process_table.h"
#include "runner/engine.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void Engine::Sample() {
  constexpr auto kEvery = 1s;
  if (Now() < next_sample_) return;
  next_sample_ = Now() + kEvery;
  platform::ProcessReader reader;
  for (auto& slot : pool_.slots()) {
    // What is over in a second is known by its largest process, from its supervisor.
    if (!slot.active || slot.active->pid == 0 || Now() - slot.active->began < kEvery) continue;
    const auto family = reader.Descendants(slot.active->pid);
    const auto memory = reader.SumProportional(family);
    if (memory.counted == 0) continue;
    slot.active->memory = memory.bytes;
    slot.active->peak = std::max(slot.active->peak.value_or(0), memory.bytes);
    governor_.Seen(slot.active->step, *slot.active->peak);
  }
  Relieve();
}

Progress Engine::MakeProgress() const {
  const auto& counts = schedule_.counts();
  Progress progress;
  progress.name = parts_.folder.id();
  progress.steps = job_.steps.size();
  progress.done = counts.done;
  progress.earlier = summary_.earlier;
  progress.failed = counts.failed;
  progress.running = counts.running;
  progress.waiting = counts.ready + counts.blocked;
  progress.waiting_reason = waiting_reason_;
  progress.workers = governor_.Workers();
  progress.elapsed = Now() - began_;
  if (ended_here_ > 0) {
    progress.rate = static_cast<double>(ended_here_) / std::max(1e-3, Seconds(progress.elapsed));
  }
  const auto running = Running();
  progress.remaining =
      governor_.Remaining(schedule_.Ready(1), counts.ready + counts.blocked, Now(), running);
  // One program of many cycles has no steps to reckon with.
  const auto& cycles = job_.commands.front().cycles;
  if (!progress.remaining && job_.steps.size() == 1 && cycles) {
    const std::uint64_t count = cycles->count;
    for (const auto& slot : pool_.slots()) {
      const auto& active = slot.active;
      if (!active || active->last_cycle == 0) continue;
      progress.remaining = governor_.RemainingCycles(count - std::min(count, active->last_cycle));
    }
  }
  progress.drift = governor_.Drift();
  progress.metrics.assign(metrics_.all().begin(), metrics_.all().end());
  return progress;
}

nlohmann::json Engine::WorkersJson() const {
  const auto& tuner = governor_.tuner();
  const auto& log = tuner.log();
  return {{"now", pool_.active()},
          {"best", tuner.workers()},
          {"settled", governor_.tunes() ? nlohmann::json(tuner.settled()) : nlohmann::json(true)},
          {"reason", log.empty() ? nlohmann::json() : nlohmann::json(log.back().sentence)}};
}

nlohmann::json Engine::StatusJson() const {
  const Progress progress = MakeProgress();
  const auto& counts = schedule_.counts();
  constexpr const char* kModes[] = {"running", "paused", "stopping", "stopping"};
  nlohmann::json running = nlohmann::json::array();
  for (const auto& slot : pool_.slots()) {
    if (!slot.active) continue;
    const auto& active = *slot.active;
    const auto& cycles = job_.commands[job_.steps[active.step].command].cycles;
    running.push_back(
        {{"step", active.step + 1},
         {"label", active.label},
         {"attempt", active.name.attempt},
         {"pid", active.pid != 0 ? nlohmann::json(active.pid) : nlohmann::json()},
         {"state", active.ending   ? "ending"
                   : active.paused ? "paused"
                                   : "running"},
         {"since", static_cast<double>(active.since) / 1e9},
         {"memory", OrNull(active.memory)},
         {"peak", OrNull(active.peak)},
         {"claim", active.need.memory_by == KnownBy::kGuess ? nlohmann::json()
                                                            : nlohmann::json(active.need.memory)},
         {"cycle", cycles ? nlohmann::json{{"done", active.last_cycle}, {"all", cycles->count}}
                          : nlohmann::json()}});
  }
  nlohmann::json metrics = nlohmann::json::object();
  for (const auto& [name, summary] : progress.metrics) {
    metrics[name] = {{"count", summary.count},
                     {"min", summary.least},
                     {"mean", summary.mean},
                     {"max", summary.most},
                     {"final", summary.final}};
  }
  nlohmann::json eta;
  if (progress.remaining) {
    eta = {{"p50", Seconds(progress.remaining->p50)}, {"p90", Seconds(progress.remaining->p90)}};
  }
  const auto wall = std::chrono::system_clock::now().time_since_epoch() - progress.elapsed;
  return {
      {"version", 1},
      {"id", parts_.folder.id()},
      {"name", job_.name.empty() ? parts_.folder.id() : job_.name},
      {"pid", getpid()},
      {"state", kModes[static_cast<int>(mode_)]},
      {"began", Seconds(wall)},
      {"folder", job_.commands.empty() ? "" : job_.commands[0].folder.string()},
      {"command",
       job_.commands.empty() ? "" : fmt::format("{}", fmt::join(job_.commands[0].arguments, " "))},
      {"steps",
       {{"all", progress.steps},
        {"done", counts.done},
        {"running", counts.running},
        {"waiting", counts.ready + counts.blocked},
        {"failed", counts.failed + counts.skipped},
        {"held", counts.held}}},
      {"workers", WorkersJson()},
      {"rate", OrNull(progress.rate)},
      {"eta", eta},
      {"waiting", waiting_reason_.empty() ? nlohmann::json() : nlohmann::json(waiting_reason_)},
      {"running", running},
      {"metrics", metrics}};
}

nlohmann::json Engine::Answer(const nlohmann::json& request) {
  const auto found = request.find("request");
  const std::string what =
      found != request.end() && found->is_string() ? found->get<std::string>() : "";
  nlohmann::json ok = {{"ok", true}};
  if (what == "status") return StatusJson();
  if (what == "tune") return {{"text", TuningText()}};
  if (what == "cancel") {
    EndAll();
    return ok;
  }
  if (what == "stop") {
    Drain();
    return ok;
  }
  if (what == "pause" || what == "resume") {
    if (mode_ != Mode::kRunning && mode_ != Mode::kPaused) return {{"error", "the job is ending"}};
    const bool pause = what == "pause";
    mode_ = pause ? Mode::kPaused : Mode::kRunning;
    for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
      auto& active = pool_.slots()[slot].active;
      if (!active) continue;
      active->paused = pause;
      pool_.Tell(slot, pause ? FrameKind::kPause : FrameKind::kContinue);
    }
    return ok;
  }
  return {{"error", fmt::format("unknown request '{}'; there are status, pause, resume, stop and "
                                "cancel",
                                what)}};
}

}  // namespace reveza::runner
