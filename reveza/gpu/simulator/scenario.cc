#include "reveza/gpu/simulator/scenario.h"

#include <algorithm>
#include <random>
#include <sstream>

namespace reveza::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ScenarioBuilder {
 public:
  ScenarioBuilder(std::uint64_t seed, Flavour flavour)
      : random_(seed * 6 + static_cast<int>(flavour)) {
    scenario_.world.seed = seed;
    flavour_ = flavour;
  }

  Scenario Build() {
    AddMachine();
    if (flavour_ == Flavour::kResting) {
      AddRestingJobs();
      return scenario_;
    }
    const bool many = flavour_ == Flavour::kMany;
    const std::uint64_t jobs = many ? Between(12, 48) : Between(2, 6);
    for (JobId job = 1; job <= jobs; ++job) AddJob(job);
    FitContexts();
    if (flavour_ == Flavour::kFaulty) AddFaults();
    const bool everything = flavour_ == Flavour::kEverything;
    if (flavour_ == Flavour::kContexts || (everything && OneIn(2))) AddContexts(jobs);
    if (flavour_ == Flavour::kPolicies || everything || many) AddPolicies(jobs);
    if (flavour_ == Flavour::kScarceHost) {
      scenario_.world.scheduler.host_budget =
          Between(0, 16) * scenario_.world.granule + scenario_.world.budgets[0] / Between(1, 16);
    }
    return scenario_;
  }

 private:
  std::uint64_t Between(std::uint64_t low, std::uint64_t high) {
    return low + random_() % (high - low + 1);
  }
  bool OneIn(std::uint64_t n) { return random_() % n == 0; }
  Time Milliseconds(std::uint64_t low, std::uint64_t high) {
    return milliseconds(Between(low, high));
  }

  void AddMachine() {
    WorldConfig& world = scenario_.world;
    const std::uint64_t gpus = flavour_ == Flavour::kMany ? Between(1, 8) : Between(1, 3);
    for (std::uint64_t gpu = 0; gpu < gpus; ++gpu) {
      world.budgets.push_back(Between(16, 48) * world.granule);
    }
    world.link_bandwidth = static_cast<double>(Between(4, 40)) * 1e9;
    world.pin_bandwidth = OneIn(2) ? 0 : static_cast<double>(Between(1, 20)) * 1e9;
    scheduler::Config& config = world.scheduler;
    config.host_budget = 1024 * kGiB;
    config.slice_floor = Milliseconds(50, 400);
    config.slice_ceiling = config.slice_floor + Milliseconds(100, 2000);
    config.max_wait = Milliseconds(1000, 20000);
    config.drain_limit =
        flavour_ == Flavour::kRanks ? Milliseconds(500, 2000) : Milliseconds(100, 300);
    config.drain_retry = Milliseconds(50, 200);
    config.context_timeout = seconds(2);
    config.context_estimate = 32 * kMiB;
    scenario_.everything_fits = flavour_ == Flavour::kFitting;
  }

  void AddJob(JobId job) {
    const Time start = Milliseconds(0, 500);
    std::vector<GpuId> gpus;
    for (GpuId gpu = 0; gpu < scenario_.world.budgets.size(); ++gpu) {
      if (OneIn(flavour_ == Flavour::kMany ? 12 : 2)) gpus.push_back(gpu);
    }
    if (gpus.empty()) {
      gpus.push_back(static_cast<GpuId>(Between(0, scenario_.world.budgets.size() - 1)));
    }
    const bool may_have_ranks = flavour_ == Flavour::kGrowing || flavour_ == Flavour::kFaulty ||
                                flavour_ == Flavour::kEverything;
    const bool ranks = flavour_ == Flavour::kRanks || (may_have_ranks && OneIn(4));
    const std::uint64_t clients = ranks || OneIn(3) ? Between(2, 3) : 1;
    const auto submissions = static_cast<std::uint32_t>(Between(1, 40));
    const auto run_ahead = static_cast<std::uint32_t>(Between(0, 3));
    Time step{0};
    Time work{0};
    for (std::uint64_t client = 0; client < clients; ++client) {
      Scenario::Process process;
      process.start = start + Milliseconds(0, OneIn(4) ? 1500 : 5);
      process.job = job;
      process.plan = MakePlan(gpus, clients);
      if (ranks) {
        if (client == 0) {
          step = process.plan.step;
          work = process.plan.work;
        }
        process.plan.step = step;
        process.plan.work = work;
        process.plan.stuck_probability = 0;
        process.plan.submissions_per_collective = submissions;
        process.plan.run_ahead = run_ahead;
      }
      scenario_.processes.push_back(process);
    }
  }

  Plan MakePlan(const std::vector<GpuId>& gpus, std::uint64_t clients) {
    Plan plan;
    // A rank often has a GPU of its own.
    plan.gpus = gpus;
    if (clients > 1 && OneIn(2)) plan.gpus = {gpus[Between(0, gpus.size() - 1)]};
    const Bytes granule = scenario_.world.granule;
    Bytes smallest = scenario_.world.budgets[plan.gpus[0]];
    for (const GpuId gpu : plan.gpus) {
      smallest = std::min(smallest, scenario_.world.budgets[gpu]);
    }
    // All contexts together take at most a quarter of the smallest budget (FitContexts).
    Bytes share = flavour_ == Flavour::kFitting ? smallest / 32 : smallest * 3 / 4 / clients;
    if (flavour_ == Flavour::kContexts) share = smallest / 4 / clients;
    plan.max_footprint = share / granule * granule;
    plan.guaranteed_growth = plan.max_footprint;
    plan.footprint = Between(0, plan.max_footprint / granule) * granule;
    plan.work = Milliseconds(200, 3000);
    plan.step = Milliseconds(2, 40);
    if (flavour_ == Flavour::kPlain || flavour_ == Flavour::kRanks) return plan;
    if (flavour_ == Flavour::kScarceHost) {
      // At most the initial footprint: growth may be refused while both GPU and host are full.
      plan.max_footprint = plan.footprint;
      plan.grow_probability = 0.05;
      plan.free_probability = 0.05;
      return plan;
    }
    plan.piece = OneIn(2) ? 0 : Between(1, 8) * granule;
    plan.grow_probability = static_cast<double>(Between(0, 10)) / 200;
    plan.free_probability = static_cast<double>(Between(0, 10)) / 200;
    plan.pin_probability = OneIn(3) ? 0.01 : 0;
    plan.sleep_probability = OneIn(2) ? 0.1 : 0;
    plan.sleep_time = Milliseconds(5, 400);
    if (flavour_ != Flavour::kFaulty) return plan;
    plan.stuck_probability = OneIn(3) ? 0.02 : 0;
    plan.evict_failure_probability = OneIn(4) ? 0.02 : 0;
    plan.resident_only = OneIn(8);
    return plan;
  }

  // A wait until the small jobs end, or compute next, is too long.
  void AddRestingJobs() {
    WorldConfig& world = scenario_.world;
    world.budgets.resize(1);
    world.scheduler.max_wait = Milliseconds(1000, 3000);
    const std::uint64_t small = Between(8, 24);
    const std::uint64_t large = Between(1, 2);
    Time limit = seconds(5) + 4 * world.scheduler.max_wait;
    for (JobId job = 1; job <= small + large; ++job) {
      const bool rests = job <= small;
      Scenario::Process process;
      process.start = rests ? Milliseconds(0, 500) : Milliseconds(1000, 4000);
      process.job = job;
      Plan& plan = process.plan;
      plan.gpus = {0};
      plan.footprint = world.budgets[0] / (rests ? 2 * small : 2);
      plan.max_footprint = plan.guaranteed_growth = plan.footprint;
      plan.context = world.budgets[0] / 4 / (small + large);
      plan.step = Milliseconds(2, 40);
      plan.work = plan.step * Between(2, rests ? 6 : 60);
      if (rests) {
        plan.sleep_probability = 0.5;
        plan.sleep_time = seconds(Between(30, 120));
      }
      limit += 2 * plan.work;
      scenario_.processes.push_back(process);
    }
    world.scheduler.context_estimate = world.budgets[0] / 4 / (small + large);
    scenario_.max_wait = limit;
  }

  void FitContexts() {
    const Bytes smallest =
        *std::min_element(scenario_.world.budgets.begin(), scenario_.world.budgets.end());
    const Bytes each = smallest / 4 / scenario_.processes.size();
    for (Scenario::Process& process : scenario_.processes) {
      process.plan.context = each - Between(0, each / 4);
      // Pinned memory of one job may block another until it ends, as does a job whose ranks wait
      // for one that grows; growths that block each other may be refused.
      const Plan& plan = process.plan;
      const bool ranks_grow = plan.submissions_per_collective > 0 && plan.grow_probability > 0;
      if (plan.pin_probability > 0 || plan.resident_only || ranks_grow) AllowRefusals();
    }
    scenario_.world.scheduler.context_estimate = each;
  }

  // Of each job, at most 5/8 of the smallest GPU: two often do not fit together.
  void AddContexts(std::uint64_t jobs) {
    WorldConfig& world = scenario_.world;
    const Bytes smallest = *std::ranges::min_element(world.budgets);
    world.scheduler.release_contexts_after = Milliseconds(20, 500);
    for (JobId job = 1; job <= jobs; ++job) {
      const auto of_job = [&](const Scenario::Process& one) { return one.job == job; };
      const auto clients =
          static_cast<std::uint64_t>(std::ranges::count_if(scenario_.processes, of_job));
      const bool refuses = OneIn(8);
      for (Scenario::Process& process : scenario_.processes) {
        if (!of_job(process)) continue;
        Plan& plan = process.plan;
        plan.movable_contexts = !OneIn(12);
        plan.refuses_release = refuses && OneIn(2);
        plan.busy_release_probability = OneIn(3) ? 0.2 : 0;
        const bool stays = !plan.movable_contexts || plan.refuses_release;
        plan.context = smallest / (stays ? 32 : Between(1, 8)) * 5 / 8 / clients;
      }
      if (!OneIn(4)) continue;
      scheduler::Policy paused;
      paused.paused = true;
      const Time when = Milliseconds(1, 4000);
      scenario_.changes.push_back({when, job, paused});
      scenario_.changes.push_back({when + Milliseconds(1, 3000), job, {}});
    }
    world.scheduler.context_estimate = smallest / 8;
    AllowRefusals();
    if (OneIn(2)) AddFaults();
    // Contexts may be larger than estimated: the host has room for them, and for pinned memory, at
    // all times.
    for (const Scenario::Process& process : scenario_.processes) {
      const Plan& plan = process.plan;
      const Bytes pinned = plan.pin_probability > 0 ? plan.max_footprint : 0;
      world.scheduler.host_budget += (plan.context + pinned) * plan.gpus.size();
    }
  }

  scheduler::Policy RandomPolicy() {
    scheduler::Policy policy;
    policy.weight = static_cast<double>(Between(1, 400)) / 100;
    policy.priority = static_cast<scheduler::Priority>(Between(0, 2));
    policy.interactive = OneIn(3);
    const Bytes smallest = *std::ranges::min_element(scenario_.world.budgets);
    if (OneIn(3)) policy.request = Between(0, smallest / 8 / kMiB) * kMiB;
    // Growth beyond it is refused, as is what others cannot keep beside requests.
    if (OneIn(3)) policy.limit = Between(smallest / 2 / kMiB, smallest / kMiB) * kMiB;
    return policy;
  }

  void AddPolicies(std::uint64_t jobs) {
    AllowRefusals();
    for (JobId job = 1; job <= jobs; ++job) {
      const scheduler::Policy policy = RandomPolicy();
      for (Scenario::Process& process : scenario_.processes) {
        if (process.job == job) process.plan.policy = policy;
      }
      if (OneIn(3)) scenario_.changes.push_back({Milliseconds(1, 4000), job, RandomPolicy()});
      if (!OneIn(3)) continue;
      scheduler::Policy paused = policy;
      paused.paused = true;
      const Time when = Milliseconds(1, 4000);
      scenario_.changes.push_back({when, job, paused});
      scenario_.changes.push_back({when + Milliseconds(1, 3000), job, policy});
    }
    if (flavour_ != Flavour::kMany && OneIn(2)) AddQuotas();
  }

  // Jobs of even number are of one account.
  void AddQuotas() {
    const Bytes smallest = *std::ranges::min_element(scenario_.world.budgets);
    const scheduler::Quota quota{.weight = static_cast<double>(Between(1, 400)) / 100,
                                 .limit = Between(smallest / 2 / kMiB, 2 * smallest / kMiB) * kMiB};
    for (Scenario::Process& process : scenario_.processes) {
      if (process.job % 2 != 0) continue;
      process.plan.account = 1;
      process.plan.quota = quota;
    }
  }

  void AllowRefusals() {
    for (Scenario::Process& process : scenario_.processes) process.plan.guaranteed_growth = 0;
  }

  void AddFaults() {
    for (ClientId client = 1; client <= scenario_.processes.size(); ++client) {
      if (OneIn(3)) scenario_.kills.push_back({Milliseconds(1, 8000), client});
    }
    if (OneIn(2)) {
      for (GpuId gpu = 0; gpu < scenario_.world.budgets.size(); ++gpu) {
        const Time when = Milliseconds(1, 3000);
        const Bytes bytes = scenario_.world.budgets[gpu] / Between(2, 16);
        scenario_.external.push_back({when, gpu, bytes});
        scenario_.external.push_back({when + Milliseconds(1, 3000), gpu, 0});
      }
    }
    if (OneIn(4)) scenario_.restarts.push_back(Milliseconds(100, 4000));
    if (OneIn(4)) scenario_.world.scheduler.host_budget = scenario_.world.budgets[0] * 2;
  }

  std::mt19937_64 random_;
  Flavour flavour_;
  Scenario scenario_;
};

}  // namespace

Scenario RandomScenario(std::uint64_t seed, Flavour flavour) {
  return ScenarioBuilder(seed, flavour).Build();
}

Time TotalWork(const Scenario& scenario) {
  Time total{0};
  for (const Scenario::Process& process : scenario.processes) {
    total += process.plan.work;
    if (process.plan.stuck_probability > 0) {
      const auto steps = static_cast<double>(process.plan.work.count()) /
                         static_cast<double>(process.plan.step.count());
      total += 5 * scenario.world.scheduler.drain_limit *
               static_cast<int>(3 + 3 * steps * process.plan.stuck_probability);
    }
    if (process.plan.sleep_probability > 0) total += 10 * process.plan.work;
  }
  return total;
}

Time MaxWait(const Scenario& scenario) {
  if (scenario.max_wait) return *scenario.max_wait;
  Time wait = 10 * TotalWork(scenario) + seconds(10);
  for (const Scenario::Process& process : scenario.processes) {
    if (process.plan.evict_failure_probability > 0) wait += seconds(60);
  }
  for (const Scenario::External& external : scenario.external) wait += external.when;
  for (const Scenario::Change& change : scenario.changes) wait += change.when;
  return wait;
}

namespace {

// Describes the state of the world for the message of a failed test.
std::string Describe(World& world) {
  std::ostringstream text;
  for (const auto& gpu : world.scheduler().Gpus()) {
    text << "gpu " << gpu.id << ": budget " << gpu.config.budget / kMiB << " external "
         << gpu.external / kMiB << " credit " << gpu.outstanding_credit / kMiB << "\n";
  }
  for (const auto& job : world.scheduler().Jobs()) {
    text << "job " << job.id << ": " << ToText(job.state) << ", waits for " << ToText(job.why)
         << ", blocked by " << job.blocked_by << "\n";
  }
  for (const auto& client : world.scheduler().Clients()) {
    const Client* process = world.Find(client.id);
    text << "client " << client.id << " of job " << client.job << ", gate "
         << (client.gate_open ? "open" : "closed") << ", waits for "
         << (process == nullptr ? "nothing (dead)" : process->WaitReasonText());
    for (const auto& state : client.gpus) {
      text << "; gpu " << state.gpu << ": resident " << state.footprint.resident / kMiB
           << " swapped " << state.footprint.swapped / kMiB << " pinned "
           << state.footprint.pinned / kMiB << " context " << state.footprint.context / kMiB
           << " credit " << state.credit / kMiB << (client.contexts_away ? " away" : "");
    }
    text << "\n";
  }
  return text.str();
}

// Returns how long a process sleeps at most in all.
Time LongestSleep(const Scenario& scenario) {
  Time longest{0};
  for (const Scenario::Process& process : scenario.processes) {
    const Plan& plan = process.plan;
    if (plan.sleep_probability == 0) continue;
    longest = std::max(longest, (plan.work / plan.step + 1) * plan.sleep_time);
  }
  return longest;
}

}  // namespace

Outcome RunScenario(const Scenario& scenario) {
  World world(scenario.world);
  world.checker().max_wait = MaxWait(scenario);
  world.checker().everything_fits = scenario.everything_fits;
  for (const Scenario::Process& process : scenario.processes) {
    world.Start(process.start, process.job, process.plan);
  }
  for (const Scenario::Kill& death : scenario.kills) world.KillAt(death.when, death.client);
  for (const Scenario::External& external : scenario.external) {
    world.SetExternalAt(external.when, external.gpu, external.bytes);
  }
  for (const Scenario::Change& change : scenario.changes) {
    world.SetPolicyAt(change.when, change.job, change.policy);
  }
  for (const Time restart : scenario.restarts) world.RestartDaemonAt(restart);
  for (const Scenario::Event& event : scenario.events) world.SendAt(event.when, event.event);
  world.Run(scenario.processes.size() * MaxWait(scenario) + LongestSleep(scenario));
  Outcome outcome;
  outcome.failure = world.checker().failure();
  outcome.all_finished = world.clients().empty();
  outcome.makespan = world.last_exit();
  outcome.events = world.events();
  outcome.max_passes = world.max_passes();
  outcome.bytes_moved = world.bytes_moved();
  if (!outcome.all_finished || !outcome.failure.empty()) outcome.state = Describe(world);
  outcome.counters = world.checker().counters();
  return outcome;
}

}  // namespace reveza::simulator
