// Properties: what holds in every world. A failure prints the seed; REVEZA_SEED=<seed> plays that
// world alone.
#include "simulator/scenario.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace reveza::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::uint64_t> Seeds(std::uint64_t count) {
  if (const char* seed = std::getenv("REVEZA_SEED")) {
    return {std::strtoull(seed, nullptr, 10)};
  }
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
  return seeds;
}

struct Total {
  std::uint64_t worlds = 0;
  std::uint64_t events = 0;
  Bytes moved = 0;
  Checker::Seen seen;

  void Add(const Outcome& outcome) {
    ++worlds;
    events += outcome.events;
    moved += outcome.moved;
    seen.turns += outcome.seen.turns;
    seen.gates_closed += outcome.seen.gates_closed;
    seen.slices_checked += outcome.seen.slices_checked;
    seen.evictions += outcome.seen.evictions;
    seen.growths_granted += outcome.seen.growths_granted;
    seen.growths_later += outcome.seen.growths_later;
    seen.growths_refused += outcome.seen.growths_refused;
    seen.queued += outcome.seen.queued;
    seen.held_for_host_memory += outcome.seen.held_for_host_memory;
  }
};

Total PlayAll(Flavour flavour, std::uint64_t worlds) {
  Total total;
  for (const std::uint64_t seed : Seeds(worlds)) {
    const Outcome outcome = Play(RandomScenario(seed, flavour));
    total.Add(outcome);
    EXPECT_EQ(outcome.failure, "") << "REVEZA_SEED=" << seed << "\n" << outcome.state;
    EXPECT_TRUE(outcome.all_finished) << "REVEZA_SEED=" << seed << "\n" << outcome.state;
    if (!outcome.failure.empty() || !outcome.all_finished) break;
  }
  return total;
}

// A world that was to test something but in which it never happened tests nothing.
bool OneSeedOnly() { return std::getenv("REVEZA_SEED") != nullptr; }

TEST(EveryWorld, BusyJobsTakeTurns) {
  const Total total = PlayAll(Flavour::kPlain, 400);
  if (OneSeedOnly()) return;
  EXPECT_GT(total.events, 40'000u);
  EXPECT_GT(total.seen.slices_checked, 500u);
  EXPECT_GT(total.seen.evictions, 1000u);
  EXPECT_GT(total.seen.queued, 100u);
}

TEST(EveryWorld, JobsGrowAndShrinkAndSleep) {
  const Total total = PlayAll(Flavour::kGrowing, 200);
  if (OneSeedOnly()) return;
  EXPECT_GT(total.events, 40'000u);
  EXPECT_GT(total.seen.growths_granted, 1000u);
  EXPECT_GT(total.seen.growths_later, 20u);
  EXPECT_GT(total.seen.gates_closed, 1000u);
}

TEST(EveryWorld, SurvivesDeathsCutBudgetsFailuresAndNewDaemons) {
  const Total total = PlayAll(Flavour::kRough, 500);
  if (OneSeedOnly()) return;
  EXPECT_GT(total.events, 80'000u);
  EXPECT_GT(total.seen.growths_refused, 10u);
  EXPECT_GT(total.seen.gates_closed, 1000u);
}

// With too little host memory to swap all of them, some queue; none is refused and all end.
TEST(EveryWorld, ShortHostMemoryMakesJobsWaitAndNotFail) {
  const Total total = PlayAll(Flavour::kShort, 400);
  if (OneSeedOnly()) return;
  EXPECT_GT(total.events, 40'000u);
  EXPECT_GT(total.seen.evictions, 100u);
  EXPECT_GT(total.seen.held_for_host_memory, 100u);
  EXPECT_EQ(total.seen.growths_refused, 0u);
}

TEST(EveryWorld, WhatFitsNeverWaitsAndNeverMoves) {
  const Total total = PlayAll(Flavour::kFitting, 200);
  EXPECT_EQ(total.moved, 0u);
  EXPECT_EQ(total.seen.gates_closed, 0u);
  EXPECT_GE(total.seen.turns, 2 * total.worlds);
}

// Busy jobs of equal size, of which one fits at a time: after the first round, what is not useful
// work is what handovers may cost.
TEST(Efficiency, HandoversCostNoMoreThanTheirShare) {
  for (const std::uint64_t jobs : {2, 3, 4}) {
    Scenario scenario;
    scenario.world.budgets = {16 * kGiB};
    scenario.world.link = 50e9;
    scenario.world.scheduler.host_budget = 256 * kGiB;
    Plan plan;
    plan.gpus = {0};
    plan.context = 512 * kMiB;
    plan.footprint = plan.most = 12 * kGiB;
    plan.work = seconds(120);
    for (JobId job = 1; job <= jobs; ++job) scenario.processes.push_back({Time(0), job, plan});
    const Outcome outcome = Play(scenario);
    ASSERT_EQ(outcome.failure, "") << outcome.state;
    ASSERT_TRUE(outcome.all_finished) << outcome.state;
    EXPECT_GT(outcome.seen.turns, 10 * jobs);  // they did take turns
    const double useful = static_cast<double>(jobs) * 120e9;
    const double share = scenario.world.scheduler.handover_share;
    EXPECT_GE(useful / static_cast<double>(outcome.makespan.count()), 1 - 2 * share) << jobs;
  }
}

// Three programs come one after the other, and each grows piece by piece to two thirds of the card,
// with a step of work after each. Nobody can know how large they will be; but who was first is not
// thrown out for the growth of the others, and the others do not throw each other out all the time.
TEST(Efficiency, JobsThatAllGrowLeaveTheFirstInPeace) {
  constexpr Bytes kCard = 16128 * kMiB;
  constexpr Bytes kEach = 10752 * kMiB;
  Scenario scenario;
  scenario.world.budgets = {kCard};
  scenario.world.link = 50e9;
  scenario.world.pinning = 20e9;
  scenario.world.scheduler.host_budget = 256 * kGiB;
  Plan plan;
  plan.gpus = {0};
  plan.context = 600 * kMiB;
  plan.footprint = plan.most = kEach;
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
    EXPECT_LE(world.checker().seen().turns, 7u) << "REVEZA_SEED=" << seed;
    EXPECT_LE(world.moved(), kEach / 3 * 4) << "REVEZA_SEED=" << seed;
  }
}

// The two directions of the link work at the same time: a handover of 12 + 12 GiB on a full card
// takes little longer than one way, and not twice as long.
TEST(Efficiency, AHandoverUsesBothDirectionsAtOnce) {
  Scenario scenario;
  scenario.world.budgets = {13 * kGiB};
  scenario.world.link = 50e9;
  scenario.world.scheduler.host_budget = 256 * kGiB;
  Plan plan;
  plan.gpus = {0};
  plan.context = 256 * kMiB;
  plan.footprint = plan.most = 12 * kGiB;
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

TEST(Scenario, TheSameSeedGivesTheSameWorld) {
  const Outcome first = Play(RandomScenario(42, Flavour::kRough));
  const Outcome second = Play(RandomScenario(42, Flavour::kRough));
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.makespan, second.makespan);
  EXPECT_EQ(first.moved, second.moved);
  EXPECT_NE(first.events, Play(RandomScenario(43, Flavour::kRough)).events);
}

TEST(Scenario, ALongerWaitIsAllowedWhereThereIsMoreToWaitFor) {
  Scenario scenario;
  Plan plan;
  plan.work = seconds(1);
  scenario.processes.push_back({Time(0), 1, plan});
  const Time one = LongestWait(scenario);
  scenario.processes.push_back({Time(0), 2, plan});
  EXPECT_GT(LongestWait(scenario), one);
  EXPECT_EQ(TotalWork(scenario), seconds(2));
}

}  // namespace
}  // namespace reveza::simulator
