// Property tests on random worlds. A failure prints the seed; REVEZA_SEED=<seed> runs only that
// world.
#include "reveza/gpu/simulator/scenario.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace reveza::simulator {
namespace scenario_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Sanitizers look for other faults than the worlds, and make them ten times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kPart = 4;
#else
constexpr std::uint64_t kPart = 1;
#endif

std::vector<std::uint64_t> Seeds(std::uint64_t count) {
  if (const char* seed = std::getenv("REVEZA_SEED")) {
    return {std::strtoull(seed, nullptr, 10)};
  }
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= count / kPart; ++seed) seeds.push_back(seed);
  return seeds;
}

struct Total {
  std::uint64_t worlds = 0;
  std::uint64_t events = 0;
  Bytes bytes_moved = 0;
  Checker::Counters counters;

  void Add(const Outcome& outcome) {
    ++worlds;
    events += outcome.events;
    bytes_moved += outcome.bytes_moved;
    counters.turns += outcome.counters.turns;
    counters.gates_closed += outcome.counters.gates_closed;
    counters.admissions += outcome.counters.admissions;
    counters.failed_drains += outcome.counters.failed_drains;
    counters.slices_checked += outcome.counters.slices_checked;
    counters.evictions += outcome.counters.evictions;
    counters.growths_granted += outcome.counters.growths_granted;
    counters.growths_later += outcome.counters.growths_later;
    counters.growths_refused += outcome.counters.growths_refused;
    counters.queued += outcome.counters.queued;
    counters.pauses += outcome.counters.pauses;
    counters.limits += outcome.counters.limits;
    counters.quotas += outcome.counters.quotas;
    counters.kept_requests += outcome.counters.kept_requests;
    counters.contexts_released += outcome.counters.contexts_released;
    counters.contexts_restored += outcome.counters.contexts_restored;
    counters.contexts_of_waiting += outcome.counters.contexts_of_waiting;
    counters.waits_for_host_memory += outcome.counters.waits_for_host_memory;
  }
};

Total RunSeeds(Flavour flavour, const std::vector<std::uint64_t>& seeds) {
  Total total;
  for (const std::uint64_t seed : seeds) {
    const Outcome outcome = RunScenario(RandomScenario(seed, flavour));
    total.Add(outcome);
    EXPECT_EQ(outcome.failure, "") << "REVEZA_SEED=" << seed << "\n" << outcome.state;
    EXPECT_TRUE(outcome.all_finished) << "REVEZA_SEED=" << seed << "\n" << outcome.state;
    if (!outcome.failure.empty() || !outcome.all_finished) break;
  }
  return total;
}

Total RunAll(Flavour flavour, std::uint64_t worlds) { return RunSeeds(flavour, Seeds(worlds)); }

// Coverage expectations apply only to full runs.
bool IsPartial() { return kPart > 1 || std::getenv("REVEZA_SEED") != nullptr; }

TEST(EveryWorld, BusyJobsTakeTurns) {
  const Total total = RunAll(Flavour::kPlain, 400);
  if (IsPartial()) return;
  EXPECT_GT(total.events, 40'000u);
  EXPECT_GT(total.counters.slices_checked, 500u);
  EXPECT_GT(total.counters.evictions, 1000u);
  EXPECT_GT(total.counters.queued, 100u);
}

TEST(EveryWorld, ContextsTakeTurns) {
  const Total total = RunAll(Flavour::kContexts, 1000);
  if (IsPartial()) return;
  EXPECT_GT(total.counters.contexts_released, 1500u);
  EXPECT_GT(total.counters.contexts_restored, 1500u);
  EXPECT_GT(total.counters.contexts_of_waiting, 100u);
}

TEST(EveryWorld, JobsGrowShrinkAndSleep) {
  const Total total = RunAll(Flavour::kGrowing, 200);
  if (IsPartial()) return;
  EXPECT_GT(total.events, 40'000u);
  EXPECT_GT(total.counters.growths_granted, 1000u);
  EXPECT_GT(total.counters.growths_later, 20u);
  EXPECT_GT(total.counters.gates_closed, 1000u);
}

TEST(EveryWorld, SurvivesDeathsBudgetCutsFailuresAndRestarts) {
  const Total total = RunAll(Flavour::kFaulty, 500);
  if (IsPartial()) return;
  EXPECT_GT(total.events, 80'000u);
  EXPECT_GT(total.counters.growths_refused, 10u);
  EXPECT_GT(total.counters.gates_closed, 1000u);
}

// Gates close between any two submissions of ranks that wait for each other.
TEST(EveryWorld, RanksThatWaitForEachOtherDrain) {
  const Total total = RunAll(Flavour::kRanks, 400);
  if (IsPartial()) return;
  EXPECT_GT(total.counters.gates_closed, 1000u);
  EXPECT_GT(total.counters.admissions, 1000u);
  EXPECT_LT(total.counters.failed_drains, total.counters.gates_closed / 50);
}

TEST(EveryWorld, PoliciesAreKept) {
  const Total total = RunAll(Flavour::kPolicies, 400);
  if (IsPartial()) return;
  EXPECT_GT(total.counters.pauses, 1000u);
  EXPECT_GT(total.counters.limits, 20u);
  EXPECT_GT(total.counters.quotas, 20u);
  EXPECT_GT(total.counters.kept_requests, 100u);
}

TEST(EveryWorld, JobsThatRestDelayNobody) {
  const Total total = RunAll(Flavour::kResting, 200);
  if (IsPartial()) return;
  EXPECT_GT(total.counters.gates_closed, 1000u);
}

TEST(EveryWorld, EverythingAtOnce) {
  const Total total = RunAll(Flavour::kEverything, 400);
  if (IsPartial()) return;
  EXPECT_GT(total.counters.growths_granted, 1000u);
  EXPECT_GT(total.counters.contexts_released, 100u);
  EXPECT_GT(total.counters.pauses, 1000u);
  EXPECT_GT(total.counters.kept_requests, 100u);
}

// Most events concern a part of the jobs only.
TEST(EveryWorld, ManyJobsOnManyGpus) {
  const Total total = RunAll(Flavour::kMany, 12);
  if (IsPartial()) return;
  EXPECT_GT(total.counters.evictions, 500u);
  EXPECT_GT(total.counters.queued, 100u);
  EXPECT_GT(total.counters.growths_granted, 500u);
}

// Found by longer runs; each has a deadlock that none of the other worlds has.
TEST(EveryWorld, RareDeadlocksAreBroken) {
  const Outcome entering = RunScenario(RandomScenario(10442, Flavour::kGrowing));
  EXPECT_TRUE(entering.all_finished) << entering.failure << "\n" << entering.state;
  const Outcome queued = RunScenario(RandomScenario(19059, Flavour::kFaulty));
  EXPECT_TRUE(queued.all_finished) << queued.failure << "\n" << queued.state;
  for (const std::uint64_t seed : {705, 814, 1757, 1967, 2069, 2551, 2679, 3101, 6283}) {
    const Outcome outcome = RunScenario(RandomScenario(seed, Flavour::kEverything));
    EXPECT_TRUE(outcome.all_finished) << seed << ": " << outcome.failure << "\n" << outcome.state;
  }
  const Outcome context = RunScenario(RandomScenario(172'999, Flavour::kPolicies));
  EXPECT_TRUE(context.all_finished) << context.failure << "\n" << context.state;
}

// A limit is lowered between the permission to allocate behind a closed gate and the allocation.
TEST(EveryWorld, PermissionsOutliveLoweredLimits) {
  for (const std::uint64_t seed : {143839, 145207}) {
    const Outcome outcome = RunScenario(RandomScenario(seed, Flavour::kEverything));
    EXPECT_TRUE(outcome.all_finished) << seed << ": " << outcome.failure << "\n" << outcome.state;
  }
}

// With too little host memory to swap all jobs some wait, but none is refused and all finish.
TEST(EveryWorld, ScarceHostMemoryDelaysButNeverFailsJobs) {
  const Total total = RunAll(Flavour::kScarceHost, 400);
  if (IsPartial()) return;
  EXPECT_GT(total.events, 40'000u);
  EXPECT_GT(total.counters.evictions, 100u);
  EXPECT_GT(total.counters.waits_for_host_memory, 100u);
  EXPECT_EQ(total.counters.growths_refused, 0u);
}

TEST(EveryWorld, FittingJobsNeverWaitOrMove) {
  const Total total = RunAll(Flavour::kFitting, 200);
  EXPECT_EQ(total.bytes_moved, 0u);
  EXPECT_EQ(total.counters.gates_closed, 0u);
  EXPECT_GE(total.counters.turns, 2 * total.worlds);
}

// The properties that EveryWorld checks of weights, limits, priorities and pauses, in 100,000 more
// worlds.
class ManyWorlds : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::uint64_t kWorlds = 2500;  // of each part
  static constexpr std::uint64_t kFirst = 100'000;

  static void Run(Flavour flavour, const char* name) {
    std::vector<std::uint64_t> seeds = Seeds(kWorlds);
    for (std::uint64_t& seed : seeds) {
      if (std::getenv("REVEZA_SEED") == nullptr) seed += kFirst + GetParam() * kWorlds;
    }
    const Total total = RunSeeds(flavour, seeds);
    const Checker::Counters& counters = total.counters;
    std::printf(
        "%s: %llu worlds, %llu events, %llu turns, %llu evictions, %llu growths granted and %llu "
        "refused, %llu of those by limits and %llu by quotas, %llu events beside a paused job that "
        "holds nothing\n",
        name, Number(total.worlds), Number(total.events), Number(counters.turns),
        Number(counters.evictions), Number(counters.growths_granted),
        Number(counters.growths_refused), Number(counters.limits), Number(counters.quotas),
        Number(counters.pauses));
    if (IsPartial()) return;
    EXPECT_EQ(total.worlds, kWorlds);
    EXPECT_GT(counters.pauses, 10'000u);
    EXPECT_GT(counters.limits, 200u);
    EXPECT_GT(counters.quotas, 200u);
    EXPECT_GT(counters.evictions, 10'000u);
  }

 private:
  static unsigned long long Number(std::uint64_t number) { return number; }
};

TEST_P(ManyWorlds, PoliciesAreKept) { Run(Flavour::kPolicies, "policies"); }

INSTANTIATE_TEST_SUITE_P(Parts, ManyWorlds, testing::Range<std::uint64_t>(0, 40));

// Busy jobs of equal size, one of which fits at a time: after the first round, all time that is not
// useful work is handover cost.
TEST(Efficiency, HandoversStayWithinTheirShare) {
  for (const std::uint64_t jobs : {2, 3, 4}) {
    Scenario scenario;
    scenario.world.budgets = {16 * kGiB};
    scenario.world.link_bandwidth = 50e9;
    scenario.world.scheduler.host_budget = 256 * kGiB;
    Plan plan;
    plan.gpus = {0};
    plan.context = 512 * kMiB;
    plan.footprint = plan.max_footprint = 12 * kGiB;
    plan.work = seconds(120);
    for (JobId job = 1; job <= jobs; ++job) scenario.processes.push_back({Time(0), job, plan});
    const Outcome outcome = RunScenario(scenario);
    ASSERT_EQ(outcome.failure, "") << outcome.state;
    ASSERT_TRUE(outcome.all_finished) << outcome.state;
    EXPECT_GT(outcome.counters.turns, 10 * jobs);  // the jobs did take turns
    const double useful = static_cast<double>(jobs) * 120e9;
    const double share = scenario.world.scheduler.handover_share;
    EXPECT_GE(useful / static_cast<double>(outcome.makespan.count()), 1 - 2 * share) << jobs;
  }
}

// Three jobs start one after the other, and each grows in pieces to two thirds of the GPU with a
// step of work after each piece. Their final size is unknown; still, the first is not preempted for
// the growth of the others, and the others do not thrash.
TEST(Efficiency, GrowingJobsDoNotPreemptTheFirst) {
  constexpr Bytes kCard = 16128 * kMiB;
  constexpr Bytes kEach = 10752 * kMiB;
  Scenario scenario;
  scenario.world.budgets = {kCard};
  scenario.world.link_bandwidth = 50e9;
  scenario.world.pin_bandwidth = 20e9;
  scenario.world.scheduler.host_budget = 256 * kGiB;
  Plan plan;
  plan.gpus = {0};
  plan.context = 600 * kMiB;
  plan.footprint = plan.max_footprint = kEach;
  plan.piece = kEach / 6;
  plan.step = milliseconds(80);
  plan.work = 30 * plan.step;
  for (const std::uint64_t seed : Seeds(20)) {
    scenario.world.seed = seed;
    World world(scenario.world);
    for (JobId job = 1; job <= 3; ++job) world.Start(milliseconds(400) * job, job, plan);
    world.Run(seconds(60));
    ASSERT_TRUE(world.checker().ok()) << world.checker().failure();
    ASSERT_TRUE(world.clients().empty());
    EXPECT_EQ(world.checker().TurnsOf(1), 1u) << "REVEZA_SEED=" << seed;
    EXPECT_LE(world.checker().counters().turns, 7u) << "REVEZA_SEED=" << seed;
    EXPECT_LE(world.bytes_moved(), kEach / 3 * 4) << "REVEZA_SEED=" << seed;
  }
}

// Both directions of the link work concurrently: a handover of 12 + 12 GiB on a full GPU takes
// little longer than one direction, not twice as long.
TEST(Efficiency, HandoverUsesBothLinkDirections) {
  Scenario scenario;
  scenario.world.budgets = {13 * kGiB};
  scenario.world.link_bandwidth = 50e9;
  scenario.world.scheduler.host_budget = 256 * kGiB;
  Plan plan;
  plan.gpus = {0};
  plan.context = 256 * kMiB;
  plan.footprint = plan.max_footprint = 12 * kGiB;
  plan.work = seconds(30);
  World world(scenario.world);
  world.Start(Time(0), 1, plan);
  world.Start(Time(0), 2, plan);
  world.Run(seconds(60));
  ASSERT_TRUE(world.checker().ok()) << world.checker().failure();
  const double one_way = static_cast<double>(12 * kGiB) / 50e9;
  const double measured = static_cast<double>(world.scheduler().Gpus()[0].handover.count()) / 1e9;
  EXPECT_GT(measured, one_way);
  EXPECT_LT(measured, 1.4 * one_way);
}

TEST(Scenario, IsDeterministicPerSeed) {
  const Outcome first = RunScenario(RandomScenario(42, Flavour::kFaulty));
  const Outcome second = RunScenario(RandomScenario(42, Flavour::kFaulty));
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.makespan, second.makespan);
  EXPECT_EQ(first.bytes_moved, second.bytes_moved);
  EXPECT_NE(first.events, RunScenario(RandomScenario(43, Flavour::kFaulty)).events);
}

TEST(Scenario, MaxWaitGrowsWithWork) {
  Scenario scenario;
  Plan plan;
  plan.work = seconds(1);
  scenario.processes.push_back({Time(0), 1, plan});
  const Time one = MaxWait(scenario);
  scenario.processes.push_back({Time(0), 2, plan});
  EXPECT_GT(MaxWait(scenario), one);
  EXPECT_EQ(TotalWork(scenario), seconds(2));
}

}  // namespace scenario_test
}  // namespace reveza::simulator
