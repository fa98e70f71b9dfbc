// That it makes no difference which jobs an event concerns: each world feeds its events also to a
// scheduler that considers everything. And that the passes of every event settle.
// REVEZA_SEED=<seed> runs only that world, and REVEZA_SEED=<first>-<last> those, of each flavour.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>

#include "reveza/gpu/simulator/scenario.h"

namespace reveza::simulator {
namespace comparison_test {

using scheduler::Scheduler;
using std::chrono::milliseconds;

// Sanitizers make the worlds ten times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kPart = 8;
#else
constexpr std::uint64_t kPart = 1;
#endif

constexpr Flavour kFlavours[] = {Flavour::kPlain,      Flavour::kGrowing,    Flavour::kFaulty,
                                 Flavour::kFitting,    Flavour::kScarceHost, Flavour::kRanks,
                                 Flavour::kPolicies,   Flavour::kContexts,   Flavour::kResting,
                                 Flavour::kEverything, Flavour::kMany};

enum class Trouble { kNone, kUnrest, kTimeouts };

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}

  std::uint64_t Between(std::uint64_t low, std::uint64_t high) {
    return low + random_() % (high - low + 1);
  }
  bool OneIn(std::uint64_t n) { return random_() % n == 0; }
  Time Milliseconds(std::uint64_t low, std::uint64_t high) {
    return milliseconds(Between(low, high));
  }

 private:
  std::mt19937_64 random_;
};

// Lets what decides between groups and everything, and who is parked, change often: long queues,
// host memory that is short at times, others on the card, deaths, restarts, sleep.
class Unrest {
 public:
  explicit Unrest(std::uint64_t seed) : random_(seed) {}

  void AddTo(Scenario& scenario) {
    WorldConfig& world = scenario.world;
    scheduler::Config& config = world.scheduler;
    Bytes all = 0;
    for (const Bytes budget : world.budgets) all += budget;
    if (random_.OneIn(3)) config.host_budget = all * random_.Between(1, 24);
    if (random_.OneIn(2)) config.max_wait = random_.Milliseconds(100, 3000);
    if (random_.OneIn(3)) config.release_contexts_after = random_.Milliseconds(20, 500);
    if (random_.OneIn(2)) AddExternal(scenario);
    if (random_.OneIn(4)) scenario.restarts.emplace_back(random_.Milliseconds(100, 6000));
    const bool sleeps = random_.OneIn(2);
    const bool movable = random_.OneIn(3);
    for (std::size_t i = 0; i < scenario.processes.size(); ++i) {
      Plan& plan = scenario.processes[i].plan;
      if (random_.OneIn(8)) scenario.kills.push_back({random_.Milliseconds(1, 8000), i + 1});
      if (movable) plan.movable_contexts = !random_.OneIn(4);
      if (!sleeps || random_.OneIn(3)) continue;
      plan.sleep_probability = 0.05;
      plan.sleep_time = random_.Milliseconds(100, 3000);
    }
  }

 private:
  void AddExternal(Scenario& scenario) {
    for (GpuId gpu = 0; gpu < scenario.world.budgets.size(); ++gpu) {
      for (std::uint64_t times = random_.Between(0, 6); times > 0; --times) {
        const Bytes bytes = scenario.world.budgets[gpu] * random_.Between(0, 15) / 16;
        const auto when = random_.Milliseconds(1, 8000);
        scenario.external.push_back({when, gpu, bytes});
        scenario.external.push_back({when + random_.Milliseconds(1, 2000), gpu, 0});
      }
    }
  }

  Random random_;
};

// Adds what otherwise takes longer than a world lasts, or is never sent: timeouts of all kinds,
// policies that change, budgets, clients that hold, yield, or are larger than the card.
class Timeouts {
 public:
  explicit Timeouts(std::uint64_t seed) : random_(seed) {}

  void AddTo(Scenario& scenario) {
    ShortenTimes(scenario.world.scheduler);
    const bool faulty = random_.OneIn(3);
    for (std::size_t i = 0; i < scenario.processes.size(); ++i) {
      Plan& plan = scenario.processes[i].plan;
      plan.guaranteed_growth = 0;
      if (random_.OneIn(3)) plan.pin_probability = 0.02;
      if (random_.OneIn(3)) plan.grow_probability = 0.05;
      if (faulty && random_.OneIn(2)) plan.evict_failure_probability = 0.05;
      const bool is_rank = plan.submissions_per_collective > 0;
      if (faulty && !is_rank && random_.OneIn(2)) plan.stuck_probability = 0.02;
      AddEvents(scenario, i + 1);
      if (random_.OneIn(3)) AddPolicies(scenario, scenario.processes[i].job);
    }
    if (random_.OneIn(3)) AddBudgets(scenario);
  }

 private:
  void ShortenTimes(scheduler::Config& config) {
    if (random_.OneIn(2)) config.context_timeout = random_.Milliseconds(1, 30);
    if (random_.OneIn(2)) config.evict_timeout = random_.Milliseconds(100, 3000);
    if (random_.OneIn(2)) config.evict_retry = random_.Milliseconds(10, 1000);
    if (random_.OneIn(2)) config.external_wait_timeout = random_.Milliseconds(20, 1000);
    if (random_.OneIn(2)) config.growth_settle_time = random_.Milliseconds(20, 1000);
    if (random_.OneIn(2)) config.takeover_settle_time = random_.Milliseconds(1, 300);
    if (random_.OneIn(2)) config.interactive_burst = random_.Milliseconds(5, 300);
    if (random_.OneIn(2)) config.queue_bound = random_.Milliseconds(5, 60);
    if (random_.OneIn(3)) config.max_wait = random_.Milliseconds(20, 500);
    if (random_.OneIn(3)) config.slice_floor = random_.Milliseconds(5, 50);
  }

  void AddEvents(Scenario& scenario, ClientId client) {
    const auto add = [&](auto event) {
      scenario.events.push_back({random_.Milliseconds(1, 6000), event});
    };
    if (random_.OneIn(6)) {
      add([=](Scheduler& s, Time now) { s.SetHostBacked(now, client); });
      for (int i = 0; i < 3; ++i) {
        const Bytes bytes = random_.Between(0, scenario.world.budgets[0]);
        add([=](Scheduler& s, Time now) { s.HostBacked(now, client, bytes); });
      }
    }
    for (std::uint64_t times = random_.Between(0, 3); times > 0; --times) {
      const bool holds = random_.OneIn(2);
      add([=](Scheduler& s, Time now) { s.SetHold(now, client, holds); });
      add([=](Scheduler& s, Time now) { s.BecameIdle(now, client); });
      add([=](Scheduler& s, Time now) { s.GateRequested(now, client); });
      add([=](Scheduler& s, Time now) { s.DrainFailed(now, client, 1); });
    }
  }

  void AddPolicies(Scenario& scenario, JobId job) {
    const Bytes budget = scenario.world.budgets[0];
    scheduler::Policy policy;
    for (std::uint64_t times = random_.Between(1, 3); times > 0; --times) {
      policy.weight = static_cast<double>(random_.Between(1, 400)) / 100;
      policy.priority = static_cast<scheduler::Priority>(random_.Between(0, 2));
      policy.interactive = random_.OneIn(2);
      policy.paused = random_.OneIn(6);
      policy.request = random_.OneIn(3) ? random_.Between(0, budget / 4) : 0;
      if (random_.OneIn(4)) policy.limit = random_.Between(budget / 2, budget);
      scenario.changes.push_back({random_.Milliseconds(1, 5000), job, policy});
    }
    policy.paused = false;
    scenario.changes.push_back({milliseconds(6000), job, policy});
  }

  void AddBudgets(Scenario& scenario) {
    const Bytes granule = scenario.world.granule;
    for (GpuId gpu = 0; gpu < scenario.world.budgets.size(); ++gpu) {
      const Bytes total = scenario.world.budgets[gpu];
      const auto set = [=](Bytes budget) {
        return [=](Scheduler& s, Time now) { s.SetGpu(now, gpu, {total, budget, granule}); };
      };
      const Time when = random_.Milliseconds(1, 4000);
      scenario.events.push_back({when, set(total * random_.Between(4, 16) / 16)});
      scenario.events.push_back({when + random_.Milliseconds(1, 2000), set(total)});
    }
  }

  Random random_;
};

// Returns the number of events. Only differences and passes that do not settle count as failures,
// not how long a world waits, or what confuses its clients.
std::uint64_t Compare(std::uint64_t seed, Flavour flavour, Trouble trouble) {
  Scenario scenario = RandomScenario(seed, flavour);
  scenario.world.compare = true;
  scenario.world.check = false;
  if (trouble != Trouble::kNone) Unrest(seed).AddTo(scenario);
  if (trouble == Trouble::kTimeouts) Timeouts(seed).AddTo(scenario);
  const Outcome outcome = RunScenario(scenario);
  EXPECT_FALSE(outcome.failure.starts_with(kDiffers))
      << outcome.failure << "\nREVEZA_SEED=" << seed << ", flavour " << static_cast<int>(flavour)
      << ", trouble " << static_cast<int>(trouble);
  EXPECT_LT(outcome.max_passes, Scheduler::kMaxPasses)
      << "REVEZA_SEED=" << seed << ", flavour " << static_cast<int>(flavour) << ", trouble "
      << static_cast<int>(trouble);
  return outcome.events;
}

struct Seeds {
  std::uint64_t first;
  std::uint64_t last;
};

std::optional<Seeds> SeedsOfEnvironment() {
  const char* text = std::getenv("REVEZA_SEED");
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const std::uint64_t first = std::strtoull(text, &end, 10);
  return Seeds{first, *end == '-' ? std::strtoull(end + 1, nullptr, 10) : first};
}

std::uint64_t CompareAll(std::uint64_t seeds, std::uint64_t seeds_of_many, Trouble trouble) {
  std::uint64_t events = 0;
  for (const Flavour flavour : kFlavours) {
    const std::uint64_t count = (flavour == Flavour::kMany ? seeds_of_many : seeds) / kPart;
    const Seeds range = SeedsOfEnvironment().value_or(Seeds{1, count});
    std::uint64_t seed = range.first;
    for (; seed <= range.last && !::testing::Test::HasFailure(); ++seed) {
      events += Compare(seed, flavour, trouble);
    }
    if (SeedsOfEnvironment()) {
      std::printf("flavour %d, trouble %d: %llu worlds\n", static_cast<int>(flavour),
                  static_cast<int>(trouble), static_cast<unsigned long long>(seed - range.first));
      std::fflush(stdout);
    }
  }
  return events;
}

bool IsPartial() { return kPart > 1 || SeedsOfEnvironment().has_value(); }

TEST(Comparison, ConsideringEverythingDecidesTheSame) {
  const std::uint64_t events = CompareAll(16, 8, Trouble::kNone);
  if (IsPartial()) return;
  EXPECT_GT(events, 50'000u);
}

TEST(Comparison, ConsideringEverythingDecidesTheSameInUnrest) {
  const std::uint64_t events = CompareAll(16, 16, Trouble::kUnrest);
  if (IsPartial()) return;
  EXPECT_GT(events, 50'000u);
}

TEST(Comparison, ConsideringEverythingDecidesTheSameWithTimeouts) {
  const std::uint64_t events = CompareAll(16, 16, Trouble::kTimeouts);
  if (IsPartial()) return;
  EXPECT_GT(events, 50'000u);
}

// Found by longer runs.
TEST(Comparison, RareDifferencesAreMended) {
  // A growth that is overdue counts for contention from then on.
  Compare(277, Flavour::kEverything, Trouble::kUnrest);
}

}  // namespace comparison_test
}  // namespace reveza::simulator
