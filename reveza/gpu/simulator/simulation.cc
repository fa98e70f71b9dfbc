#include "reveza/gpu/simulator/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <queue>

#include "common/base/run_in_parallel.h"

namespace reveza::simulator {
namespace {

using scheduler::JobState;

// The jobs of one node, by index in Simulation::jobs.
struct NodeJobs {
  std::vector<std::size_t> jobs;
  std::vector<const JobGroup*> groups;
};

Phase PhaseOf(JobState state) {
  switch (state) {
    case JobState::kQueued:
    case JobState::kWaiting:
      return Phase::kWaits;
    case JobState::kEntering:
      return Phase::kEnters;
    case JobState::kRunning:
      return Phase::kRuns;
    case JobState::kLeaving:
      return Phase::kDrains;
    case JobState::kPaused:
      return Phase::kPaused;
    case JobState::kIdle:
      break;
  }
  return Phase::kSleeps;
}

// Follows the jobs of a world: the number of a job is its index in `jobs` and 1.
class Follower {
 public:
  Follower(World& world, std::vector<SimulatedJob*> jobs, std::vector<Span>* spans,
           const std::vector<std::size_t>& indices)
      : world_(world), jobs_(std::move(jobs)), spans_(spans), indices_(indices) {
    world_.Observe([this] { Look(); });
  }

  void Finish(Time end) {
    for (auto& [number, now] : now_) Close(number, now, end, /*finished=*/false);
    now_.clear();
  }

 private:
  struct Now {
    Phase phase = Phase::kSleeps;
    Time since{0};
    std::optional<Time> wanted_since;
    bool seen = false;
  };

  void Look() {
    for (auto& [number, now] : now_) now.seen = false;
    for (const auto& view : world_.scheduler().Jobs()) {
      const auto [entry, fresh] = now_.try_emplace(view.id);
      Now& now = entry->second;
      if (fresh) {
        now.since = world_.now();
        JobOf(view.id).started = world_.now();
      }
      now.seen = true;
      JobOf(view.id).turns = view.turns;
      const Phase phase = PhaseOf(view.state);
      if (phase == now.phase) continue;
      Add(view.id, now, world_.now());
      Change(view.id, now, phase);
    }
    std::erase_if(now_, [&](auto& entry) {
      if (!entry.second.seen) Close(entry.first, entry.second, world_.now(), /*finished=*/true);
      return !entry.second.seen;
    });
  }

  void Change(JobId number, Now& now, Phase phase) {
    const bool wants = phase == Phase::kWaits || phase == Phase::kEnters;
    if (wants && !now.wanted_since) now.wanted_since = world_.now();
    if (phase == Phase::kRuns && now.wanted_since) {
      JobOf(number).waits.push_back(world_.now() - *now.wanted_since);
    }
    if (!wants) now.wanted_since.reset();
    now.phase = phase;
    now.since = world_.now();
  }

  void Add(JobId number, const Now& now, Time end) {
    SimulatedJob& job = JobOf(number);
    const Time length = end - now.since;
    if (now.phase == Phase::kRuns || now.phase == Phase::kDrains) job.ran += length;
    if (now.phase == Phase::kWaits || now.phase == Phase::kEnters) job.waited += length;
    if (spans_ != nullptr && length > Time(0)) {
      spans_->push_back({indices_[number - 1], now.phase, now.since, end});
    }
  }

  void Close(JobId number, const Now& now, Time end, bool finished) {
    Add(number, now, end);
    JobOf(number).ended = end;
    JobOf(number).finished = finished;
  }

  SimulatedJob& JobOf(JobId number) { return *jobs_[number - 1]; }

  World& world_;
  const std::vector<SimulatedJob*> jobs_;
  std::vector<Span>* const spans_;
  const std::vector<std::size_t>& indices_;
  std::map<JobId, Now> now_;
};

std::vector<NodeJobs> Place(const WorldFile& world, std::vector<SimulatedJob>& jobs) {
  std::vector<NodeJobs> nodes(world.nodes);
  // Memory used, node; the least used first, then the first.
  std::priority_queue<std::pair<Bytes, std::size_t>, std::vector<std::pair<Bytes, std::size_t>>,
                      std::greater<>>
      free;
  for (std::size_t node = 0; node < world.nodes; ++node) free.emplace(0, node);
  for (const JobGroup& group : world.jobs) {
    for (std::size_t copy = 0; copy < group.copies; ++copy) {
      const auto [used, node] = free.top();
      free.pop();
      free.emplace(used + group.plan.footprint + group.plan.context, node);
      nodes[node].jobs.push_back(jobs.size());
      nodes[node].groups.push_back(&group);
      SimulatedJob& job = jobs.emplace_back();
      job.name = group.copies == 1 ? group.name : fmt::format("{}-{}", group.name, copy + 1);
      job.node = node;
      job.weight = group.plan.policy.weight;
    }
  }
  return nodes;
}

struct NodeResult {
  Bytes bytes_moved = 0;
  std::uint64_t events = 0;
};

NodeResult Play(const WorldFile& file, std::size_t number, const NodeJobs& node, Time limit,
                std::vector<SimulatedJob>& all, std::vector<Span>* spans) {
  WorldConfig config = file.node;
  config.seed += number;
  World world(config);
  std::vector<SimulatedJob*> jobs;
  for (const std::size_t index : node.jobs) jobs.push_back(&all[index]);
  Follower follower(world, jobs, spans, node.jobs);
  for (std::size_t i = 0; i < node.groups.size(); ++i) {
    const JobGroup& group = *node.groups[i];
    Plan plan = group.plan;
    if (group.busy > Time(0)) {
      plan.sleep_probability = std::min(
          1.0, static_cast<double>(plan.step.count()) / static_cast<double>(group.busy.count()));
    }
    world.Start(group.start, i + 1, plan);
  }
  world.Run(limit);
  follower.Finish(std::min(world.now(), limit));
  return {world.bytes_moved(), world.events()};
}

}  // namespace

Time SimulatedJob::WaitPercentile(double share) const {
  if (waits.empty()) return Time(0);
  std::vector<Time> sorted = waits;
  std::ranges::sort(sorted);
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(rank, sorted.size() - 1)];
}

double Simulation::Fairness() const {
  double sum = 0;
  double squares = 0;
  std::size_t count = 0;
  for (const SimulatedJob& job : jobs) {
    const auto wanted = static_cast<double>((job.ran + job.waited).count());
    if (wanted == 0) continue;
    const double share = static_cast<double>(job.ran.count()) / wanted / job.weight;
    sum += share;
    squares += share * share;
    ++count;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(count) * squares);
}

Simulation Simulate(const WorldFile& world, Time limit, int threads) {
  Simulation result;
  const std::vector<NodeJobs> nodes = Place(world, result.jobs);
  std::vector<NodeResult> results(nodes.size());
  std::atomic<std::size_t> next = 0;
  RunInParallel(threads, [&](int, int) {
    for (std::size_t node = next++; node < nodes.size(); node = next++) {
      results[node] =
          Play(world, node, nodes[node], limit, result.jobs, node == 0 ? &result.spans : nullptr);
    }
  });
  result.all_finished = true;
  for (const SimulatedJob& job : result.jobs) {
    result.makespan = std::max(result.makespan, job.ended);
    result.all_finished = result.all_finished && job.finished;
  }
  for (const NodeResult& node : results) {
    result.bytes_moved += node.bytes_moved;
    result.events += node.events;
  }
  return result;
}

}  // namespace reveza::simulator
