#include "reveza/jobs/engine/status_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "reveza/jobs/definition/job_json.h"
#include "reveza/jobs/report/tuning_text.h"

namespace reveza::jobs {
namespace {

// If all steps have cycles, these measure the progress: they are known long before the first step
// has ended.
bool IsMadeOfCycles(const Job& job) {
  return std::ranges::all_of(job.commands,
                             [](const Command& command) { return command.cycles.has_value(); });
}

std::optional<RemainingTime> RemainingCycles(const EngineView& view) {
  if (!IsMadeOfCycles(view.job)) return std::nullopt;
  const auto unfinished = view.schedule.counts().running + view.schedule.counts().ready +
                          view.schedule.counts().blocked;
  if (unfinished == 0) return std::nullopt;
  std::uint64_t longest = 0;  // of the running steps
  for (const auto& running : view.running) {
    longest = std::max(longest, view.cycles.LeftOf(static_cast<std::uint32_t>(running.step)));
  }
  const auto workers = std::clamp<std::uint64_t>(view.governor.Workers(), 1, unfinished);
  return view.governor.RemainingCycles(view.cycles.all() - view.cycles.done(),
                                       static_cast<unsigned>(workers), longest);
}

const char* StateOf(const ActiveAttempt& active) {
  if (active.ending) return "ending";
  return active.paused ? "paused" : "running";
}

nlohmann::json AttemptJson(const ActiveAttempt& active, const Job& job) {
  const auto& cycles = job.commands[job.steps[active.step].command].cycles;
  const bool has_claim = active.need.memory_source != ClaimSource::kGuessed;
  return {{"step", active.step + 1},
          {"label", active.label},
          {"attempt", active.name.attempt},
          {"pid", active.pid != 0 ? nlohmann::json(active.pid) : nlohmann::json()},
          {"state", StateOf(active)},
          {"since", static_cast<double>(active.since) / 1e9},
          {"memory", OrNull(active.memory)},
          {"peak", OrNull(active.peak)},
          {"limit", OrNull(active.limit)},
          {"claim", has_claim ? nlohmann::json(active.need.memory) : nlohmann::json()},
          {"cycle", cycles ? nlohmann::json{{"done", active.last_cycle}, {"all", cycles->count}}
                           : nlohmann::json()}};
}

// Returns what keeps more steps of a lane from running: what the next step waits for, or what the
// tuner found; empty while unknown.
std::optional<std::string> LimitText(const EngineView& view, Lane lane) {
  const auto running = view.running_by_lane[static_cast<std::size_t>(lane)];
  std::string text = view.governor.tuner(lane).Limit();
  if (running < view.governor.Workers(lane) && !view.waiting_reason.empty()) {
    text = view.waiting_reason;
  }
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

nlohmann::json WorkersJson(const EngineView& view) {
  const Governor& governor = view.governor;
  const Decision* last = nullptr;
  bool settled = true;
  nlohmann::json lanes = nlohmann::json::object();
  for (const auto lane : {Lane::kCpu, Lane::kGpu}) {
    if (!governor.Has(lane)) continue;
    const auto& tuner = governor.tuner(lane);
    const auto& log = tuner.log();
    settled = settled && (!governor.tunes() || tuner.settled());
    if (!log.empty() && (last == nullptr || log.back().at > last->at)) last = &log.back();
    lanes[lane == Lane::kCpu ? "cpu" : "gpu"] = {
        {"now", view.running_by_lane[static_cast<std::size_t>(lane)]},
        {"best", tuner.workers()},
        {"limit", OrNull(LimitText(view, lane))},
        {"reason", log.empty() ? nlohmann::json() : nlohmann::json(log.back().text)}};
  }
  return {{"now", view.pool.active()},
          {"best", governor.Workers()},
          {"settled", settled},
          {"reason", last == nullptr ? nlohmann::json() : nlohmann::json(last->text)},
          {"lanes", lanes}};
}

nlohmann::json StepsJson(const Schedule::Counts& counts, std::uint64_t all) {
  return {{"all", all},
          {"done", counts.done},
          {"running", counts.running},
          {"waiting", counts.ready + counts.blocked},
          {"failed", counts.failed + counts.skipped},
          {"held", counts.held}};
}

}  // namespace

Progress MakeProgress(const EngineView& view) {
  const auto& counts = view.schedule.counts();
  Progress progress;
  progress.name = view.id;
  progress.steps = view.job.steps.size();
  progress.done = counts.done;
  progress.done_before = view.done_before;
  progress.failed = counts.failed;
  progress.running = counts.running;
  progress.waiting = counts.ready + counts.blocked;
  progress.waiting_reason = view.waiting_reason;
  progress.workers = view.governor.Workers();
  progress.elapsed = view.now - view.began;
  if (view.ended_here > 0) {
    progress.rate =
        static_cast<double>(view.ended_here) / std::max(1e-3, Seconds(progress.elapsed));
  }
  if (IsMadeOfCycles(view.job)) {
    progress.cycles_done = view.cycles.done();
    progress.cycles = view.cycles.all();
  }
  progress.remaining = RemainingCycles(view);
  if (!progress.remaining) {
    progress.remaining =
        view.governor.Remaining(view.schedule.waiting_by_command(), view.now, view.running);
  }
  progress.metrics.assign(view.metrics.all().begin(), view.metrics.all().end());
  return progress;
}

nlohmann::json CommonStatusJson(const Job& job, const Schedule::Counts& counts,
                                const Progress& progress, std::string_view state,
                                std::string_view limits) {
  const auto wall = std::chrono::system_clock::now().time_since_epoch() - progress.elapsed;
  const auto& reason = progress.waiting_reason;
  return {
      {"version", 1},
      {"id", progress.name},
      {"name", job.name.empty() ? progress.name : job.name},
      {"pid", getpid()},
      {"state", state},
      {"began", Seconds(wall)},
      {"folder", job.commands.empty() ? "" : job.commands[0].folder.string()},
      {"command",
       job.commands.empty() ? "" : fmt::format("{}", fmt::join(job.commands[0].arguments, " "))},
      {"steps", StepsJson(counts, progress.steps)},
      {"cycles", CyclesJson(progress)},
      {"limits", limits},
      {"rate", OrNull(progress.rate)},
      {"eta", EtaJson(progress.remaining)},
      {"waiting", reason.empty() ? nlohmann::json() : nlohmann::json(reason)},
      {"metrics", MetricsJson(progress.metrics)}};
}

nlohmann::json StatusJson(const EngineView& view) {
  nlohmann::json running = nlohmann::json::array();
  for (const auto& slot : view.pool.slots()) {
    if (slot.active) running.push_back(AttemptJson(*slot.active, view.job));
  }
  nlohmann::json status = CommonStatusJson(view.job, view.schedule.counts(), MakeProgress(view),
                                           view.state, view.limits);
  status["workers"] = WorkersJson(view);
  status["running"] = std::move(running);
  return status;
}

std::string TuningText(const Governor& governor, std::chrono::nanoseconds began) {
  if (!governor.tunes()) return {};
  const bool both = governor.Has(Lane::kCpu) && governor.Has(Lane::kGpu);
  std::string text;
  for (const auto lane : {Lane::kCpu, Lane::kGpu}) {
    const auto& tuner = governor.tuner(lane);
    const auto table = tuner.Table();
    if (!governor.Has(lane) || table.empty()) continue;
    if (!text.empty()) text += "\n";
    if (both) text += lane == Lane::kCpu ? "steps on CPUs\n" : "steps on GPUs\n";
    if (table.size() == 1) {
      text += SingleCountText(table.front(), tuner.Limit());
    } else {
      text += TuningTable(table, tuner.workers(), tuner.Limit());
    }
    text += "\n" + TuningLog(tuner.log(), began);
  }
  return text;
}

}  // namespace reveza::jobs
