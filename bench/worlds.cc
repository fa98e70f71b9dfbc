// Plays random worlds and prints what their jobs got, one world per line: seed, makespan in
// seconds, Jain's index of the jobs' speeds, and whether all ended. bench/worlds.py builds it
// against two versions of the scheduler and compares.
//
//   worlds FLAVOUR WORLDS REPEATS FIRST
//
// FLAVOUR 100: long worlds of busy jobs that take turns, with weights, which a scheduler that has
// none ignores. The index is then that of their GPU times divided by the weights while all of them
// are there.
//
// The random numbers of a world are drawn in the order of its events, which differs between
// policies; so each world is played REPEATS times with other ones, numbered from FIRST, and the
// line is the mean.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "reveza/gpu/simulator/scenario.h"

namespace {

using namespace reveza::simulator;  // NOLINT: the whole file is about it

struct Played {
  double makespan = 0;
  double fairness = 0;
  bool finished = false;
};

double Seconds(Time time) { return std::chrono::duration<double>(time).count(); }

constexpr int kWeights = 100;

using Weights = std::map<JobId, double>;

template <typename AnyPlan>
void SetWeight(AnyPlan& plan, double weight) {
  if constexpr (requires { plan.policy; }) plan.policy.weight = weight;
}

// No two jobs fit together on the only GPU that they use.
Scenario WeightedWorld(std::uint64_t seed, Weights& weights) {
  Scenario scenario = RandomScenario(seed, Flavour::kPlain);
  scenario.world.scheduler.max_wait = std::chrono::seconds(120);
  std::mt19937_64 random(seed);
  std::vector<Scenario::Process> processes;
  for (Scenario::Process& process : scenario.processes) {
    const auto [entry, fresh] = weights.try_emplace(process.job, 1 + random() % 8);
    if (!fresh) continue;
    process.plan.gpus = {0};
    process.plan.work = std::chrono::milliseconds(10'000 + random() % 20'000);
    process.plan.footprint = scenario.world.budgets[0] * (52 + random() % 20) / 100;
    process.plan.max_footprint = process.plan.footprint;
    SetWeight(process.plan, entry->second);
    processes.push_back(process);
  }
  scenario.processes = processes;
  return scenario;
}

double Jain(double sum, double squares, std::size_t count) {
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(count) * squares);
}

Played PlayWeighted(const Scenario& scenario, const Weights& weights) {
  World world(scenario.world);
  for (const Scenario::Process& process : scenario.processes) {
    world.Start(process.start, process.job, process.plan);
  }
  Played played;
  const Time limit = scenario.processes.size() * MaxWait(scenario);
  for (Time now = std::chrono::seconds(3); now <= limit; now += std::chrono::milliseconds(100)) {
    world.Run(now);
    if (world.clients().size() < scenario.processes.size()) break;
    double sum = 0;
    double squares = 0;
    for (const auto& job : world.scheduler().Jobs()) {
      const double share = Seconds(job.ran) / weights.at(job.id);
      sum += share;
      squares += share * share;
    }
    played.fairness = Jain(sum, squares, weights.size());
  }
  world.Run(limit);
  played.makespan = Seconds(world.last_exit());
  played.finished = world.checker().ok() && world.clients().empty();
  return played;
}

// The speed of a job is its GPU time, that of its longest client, divided by the time from its
// start until its end.
Played Play(const Scenario& scenario) {
  World world(scenario.world);
  for (const Scenario::Process& process : scenario.processes) {
    world.Start(process.start, process.job, process.plan);
  }
  const Time limit = scenario.processes.size() * MaxWait(scenario);
  std::map<ClientId, Time> ended;
  for (Time now{0}; now <= limit && ended.size() < scenario.processes.size();
       now += std::chrono::milliseconds(5)) {
    world.Run(now);
    if (!world.checker().ok()) break;
    for (std::size_t i = 0; i < scenario.processes.size(); ++i) {
      const bool gone = world.Find(i + 1) == nullptr;
      if (gone && scenario.processes[i].start < now) ended.try_emplace(i + 1, now);
    }
  }
  struct JobTimes {
    Time started = Time::max();
    Time ended{0};
    Time work{0};
  };
  std::map<JobId, JobTimes> jobs;
  for (std::size_t i = 0; i < scenario.processes.size(); ++i) {
    const Scenario::Process& process = scenario.processes[i];
    JobTimes& job = jobs[process.job];
    job.started = std::min(job.started, process.start);
    job.ended = std::max(job.ended, ended[i + 1]);
    job.work = std::max(job.work, process.plan.work);
  }
  Played played;
  double sum = 0;
  double squares = 0;
  for (const auto& [id, job] : jobs) {
    played.makespan = std::max(played.makespan, Seconds(job.ended));
    const double speed = Seconds(job.work) / std::max(Seconds(job.ended - job.started), 1e-3);
    sum += speed;
    squares += speed * speed;
  }
  played.fairness = Jain(sum, squares, jobs.size());
  played.finished = world.checker().ok() && world.clients().empty();
  return played;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: worlds FLAVOUR WORLDS REPEATS FIRST\n");
    return 2;
  }
  const bool weighted = std::atoi(argv[1]) == kWeights;
  const auto flavour = static_cast<Flavour>(std::atoi(argv[1]));
  const int repeats = std::atoi(argv[3]);
  const int first = std::atoi(argv[4]);
  for (int seed = 1; seed <= std::atoi(argv[2]); ++seed) {
    Weights weights;
    Scenario scenario = weighted ? WeightedWorld(seed, weights) : RandomScenario(seed, flavour);
    Played mean;
    bool finished = true;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      scenario.world.seed = static_cast<std::uint64_t>(seed) * 1000 + first + repeat;
      const Played played = weighted ? PlayWeighted(scenario, weights) : Play(scenario);
      mean.makespan += played.makespan / repeats;
      mean.fairness += played.fairness / repeats;
      finished = finished && played.finished;
    }
    std::printf("%d %.4f %.4f %d\n", seed, mean.makespan, mean.fairness, finished ? 1 : 0);
  }
}
