// That it makes no difference which jobs an event concerns: each world feeds its events also to a
// scheduler that considers everything. REVEZA_SEED=<seed> runs only that world.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "reveza/gpu/simulator/scenario.h"

namespace reveza::simulator {
namespace comparison_test {

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
    if (OneIn(3)) config.host_budget = all * Between(1, 24);
    if (OneIn(2)) config.max_wait = milliseconds(Between(100, 3000));
    if (OneIn(3)) config.release_contexts_after = milliseconds(Between(20, 500));
    if (OneIn(2)) AddExternal(scenario);
    if (OneIn(4)) scenario.restarts.emplace_back(milliseconds(Between(100, 6000)));
    const bool sleeps = OneIn(2);
    const bool movable = OneIn(3);
    for (std::size_t i = 0; i < scenario.processes.size(); ++i) {
      Plan& plan = scenario.processes[i].plan;
      if (OneIn(8)) scenario.kills.push_back({milliseconds(Between(1, 8000)), i + 1});
      if (movable) plan.movable_contexts = !OneIn(4);
      if (!sleeps || OneIn(3)) continue;
      plan.sleep_probability = 0.05;
      plan.sleep_time = milliseconds(Between(100, 3000));
    }
  }

 private:
  std::uint64_t Between(std::uint64_t low, std::uint64_t high) {
    return low + random_() % (high - low + 1);
  }
  bool OneIn(std::uint64_t n) { return random_() % n == 0; }

  void AddExternal(Scenario& scenario) {
    for (GpuId gpu = 0; gpu < scenario.world.budgets.size(); ++gpu) {
      for (std::uint64_t times = Between(0, 6); times > 0; --times) {
        const Bytes bytes = scenario.world.budgets[gpu] * Between(0, 15) / 16;
        const auto when = milliseconds(Between(1, 8000));
        scenario.external.push_back({when, gpu, bytes});
        scenario.external.push_back({when + milliseconds(Between(1, 2000)), gpu, 0});
      }
    }
  }

  std::mt19937_64 random_;
};

// Returns the number of events. Only differences count as failures, not how long a world waits.
std::uint64_t Compare(std::uint64_t seed, Flavour flavour, bool unrest) {
  Scenario scenario = RandomScenario(seed, flavour);
  scenario.world.compare = true;
  scenario.world.check = false;
  if (unrest) Unrest(seed).AddTo(scenario);
  const Outcome outcome = RunScenario(scenario);
  EXPECT_EQ(outcome.failure, "") << "REVEZA_SEED=" << seed << ", flavour "
                                 << static_cast<int>(flavour) << (unrest ? ", unrest" : "");
  return outcome.events;
}

std::uint64_t CompareAll(std::uint64_t seeds, std::uint64_t seeds_of_many, bool unrest) {
  std::uint64_t events = 0;
  for (const Flavour flavour : kFlavours) {
    if (const char* seed = std::getenv("REVEZA_SEED")) {
      Compare(std::strtoull(seed, nullptr, 10), flavour, unrest);
      continue;
    }
    const std::uint64_t last = (flavour == Flavour::kMany ? seeds_of_many : seeds) / kPart;
    for (std::uint64_t seed = 1; seed <= last && !::testing::Test::HasFailure(); ++seed) {
      events += Compare(seed, flavour, unrest);
    }
  }
  return events;
}

bool IsPartial() { return kPart > 1 || std::getenv("REVEZA_SEED") != nullptr; }

TEST(Comparison, ConsideringEverythingDecidesTheSame) {
  const std::uint64_t events = CompareAll(16, 8, /*unrest=*/false);
  if (IsPartial()) return;
  EXPECT_GT(events, 50'000u);
}

TEST(Comparison, ConsideringEverythingDecidesTheSameInUnrest) {
  const std::uint64_t events = CompareAll(16, 16, /*unrest=*/true);
  if (IsPartial()) return;
  EXPECT_GT(events, 50'000u);
}

// Found by longer runs: a growth that is overdue counts for contention from then on.
TEST(Comparison, RareDifferencesAreMended) { Compare(277, Flavour::kEverything, /*unrest=*/true); }

}  // namespace comparison_test
}  // namespace reveza::simulator
