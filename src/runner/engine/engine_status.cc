// What the engine says of itself.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "platform/cgroup_ground.h"
#include "platform/process_table.h"
#include "runner/engine/engine.h"
#include "runner/report/progress_json.h"
#include "runner/report/tuning_text.h"

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

std::optional<Bytes> Engine::MemoryOf(const Active& active, platform::ProcessReader& reader) const {
  if (!active.group.empty()) {
    if (const auto memory = platform::ProgramMemoryOf(active.group, active.group_version)) {
      return memory;
    }
  }
  const auto memory = reader.SumProgram(reader.Descendants(active.pid));
  return memory.counted == 0 ? std::nullopt : std::optional(memory.bytes);
}

void Engine::Sample() {
  constexpr auto kEvery = 1s;
  if (Now() < next_sample_) return;
  next_sample_ = Now() + kEvery;
  platform::ProcessReader reader;
  std::uint64_t ticks = 0;  // of what runs
  for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
    auto& active = pool_.slots()[slot].active;
    // What is over in a second is known by its largest process, from its supervisor.
    if (!active || active->pid == 0 || Now() - active->began < kEvery) continue;
    const auto family = reader.Descendants(active->pid);
    ticks += reader.SumTicks(family);
    active->gpu_memory = governor_.GpuMemoryOfProcesses(family);
    if (active->gpu_memory) {
      active->gpu_peak = std::max(active->gpu_peak.value_or(0), *active->gpu_memory);
    }
    active->witness.Look(family);
    const auto memory = MemoryOf(*active, reader);
    if (!memory) continue;
    active->memory = memory;
    active->peak = std::max(active->peak.value_or(0), *memory);
    governor_.Seen(active->step, *active->peak, active->gpu_peak);
    HoldToLimit(slot);
  }
  const std::chrono::duration<double> running(static_cast<double>(ticks) /
                                              static_cast<double>(platform::TicksPerSecond()));
  governor_.SeenCpu(Now(), cpu_of_ended_ + std::chrono::duration_cast<Nanoseconds>(running));
  Relieve();
}

// Where the kernel does not: steps that are usually over at once have no group, nor those for which
// none could be made.
void Engine::HoldToLimit(std::size_t slot) {
  Active& active = *pool_.slots()[slot].active;
  const bool held = limits_.by() == Limits::kSystemd || !active.group.empty();
  if (held || active.ending || !active.limit) return;
  if (active.memory.value_or(0) <= *active.limit) return;
  observer_.OnNote(fmt::format("step {} has {} of at most {}: it is ended", active.label,
                               FormatBytes(*active.memory), FormatBytes(*active.limit)));
  active.ending = true;
  active.ended_for_memory = true;
  active.ended_at_limit = true;
  pool_.Tell(slot, FrameKind::kEnd);
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
  progress.remaining = governor_.Remaining(schedule_.waiting_by_command(), Now(), running);
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
  const Decision* last = nullptr;
  bool settled = true;
  nlohmann::json lanes = nlohmann::json::object();
  const auto running = RunningByLane();
  for (const auto lane : {Lane::kCpu, Lane::kGpu}) {
    if (!governor_.Has(lane)) continue;
    const auto& tuner = governor_.tuner(lane);
    const auto& log = tuner.log();
    settled = settled && (!governor_.tunes() || tuner.settled());
    if (!log.empty() && (last == nullptr || log.back().at > last->at)) last = &log.back();
    lanes[lane == Lane::kCpu ? "cpu" : "gpu"] = {
        {"now", running[static_cast<std::size_t>(lane)]},
        {"best", tuner.workers()},
        {"reason", log.empty() ? nlohmann::json() : nlohmann::json(log.back().sentence)}};
  }
  return {{"now", pool_.active()},
          {"best", governor_.Workers()},
          {"settled", settled},
          {"reason", last == nullptr ? nlohmann::json() : nlohmann::json(last->sentence)},
          {"lanes", lanes}};
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
         {"limit", OrNull(active.limit)},
         {"claim", active.need.memory_by == KnownBy::kGuess ? nlohmann::json()
                                                            : nlohmann::json(active.need.memory)},
         {"cycle", cycles ? nlohmann::json{{"done", active.last_cycle}, {"all", cycles->count}}
                          : nlohmann::json()}});
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
      {"limits", limits_.words()},
      {"rate", OrNull(progress.rate)},
      {"eta", EtaJson(progress.remaining)},
      {"drift", OrNull(progress.drift)},
      {"waiting", waiting_reason_.empty() ? nlohmann::json() : nlohmann::json(waiting_reason_)},
      {"running", running},
      {"metrics", MetricsJson(progress.metrics)}};
}

std::string Engine::TuningText() const {
  if (!governor_.tunes()) return {};
  const bool both = governor_.Has(Lane::kCpu) && governor_.Has(Lane::kGpu);
  std::string text;
  for (const auto lane : {Lane::kCpu, Lane::kGpu}) {
    const auto& tuner = governor_.tuner(lane);
    const auto table = tuner.Table();
    if (!governor_.Has(lane) || table.empty()) continue;
    if (!text.empty()) text += "\n";
    if (both) text += lane == Lane::kCpu ? "steps on CPUs\n" : "steps on GPUs\n";
    if (table.size() == 1) {
      text += OneNumberText(table.front(), tuner.WhyNoOther());
      continue;
    }
    text += TuningTable(table, tuner.workers(), governor_.most()) + "\n" +
            TuningLog(tuner.log(), began_);
  }
  return text;
}

}  // namespace reveza::runner
