#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include "scheduler/script.h"

namespace reveza::scheduler {
namespace {

TEST(Scheduler, IgnoresWhatItDoesNotKnow) {
  Scheduler scheduler{Config{}};
  const Time now(1);
  scheduler.ClientLeft(now, 1);
  scheduler.ContextWanted(now, 1, 0);
  scheduler.ContextMade(now, 1, 0, kMiB);
  scheduler.GrowthWanted(now, 1, 1, 0, GrowthKind::kPinned, kMiB);
  scheduler.AccountChanged(now, 1, 0, Footprint{}, kMiB, 0);
  scheduler.GateWanted(now, 1);
  scheduler.BecameIdle(now, 1);
  scheduler.GateClosed(now, 1, 1);
  scheduler.DrainFailed(now, 1, 1, DrainFailure::kCapture);
  scheduler.Evicted(now, 1, 1, 0, kMiB, EvictFailure::kDriver);
  scheduler.SwappedIn(now, 1, 1);
  scheduler.SetExternal(now, 3, kMiB);
  scheduler.ClientResumed(now, 1, 0, Footprint{}, 0, true);
  EXPECT_TRUE(scheduler.TakeDecisions().empty());
  EXPECT_FALSE(scheduler.NextWakeup());
}

TEST(Scheduler, AClientReturnsNoMoreCreditThanItHas) {
  Script script;
  script.Newcomer(1, kGiB);
  script.Want(1);
  script.scheduler().AccountChanged(script.now(), 1, Script::kGpu, Footprint{0, 0, 0, 512 * kMiB},
                                    100 * kGiB, 0);
  EXPECT_EQ(script.GpuOf().credit_out, 512 * kMiB);
}

TEST(Scheduler, WhatIsHeldWithoutCreditIsCounted) {
  Script script;
  script.Newcomer(1, kGiB);
  script.scheduler().AccountChanged(script.now(), 1, Script::kGpu,
                                    Footprint{0, kGiB, 0, 700 * kMiB}, 0, 0);
  EXPECT_EQ(script.GpuOf().credit_out, 700 * kMiB);
}

TEST(Scheduler, FreedMemoryLetsTheNextIn) {
  Script script;
  script.Newcomer(1, 12 * kGiB);
  script.Want(1);
  script.Newcomer(2, 8 * kGiB);
  script.Want(2);
  EXPECT_FALSE(script.Open(2));
  script.Free(1, 6 * kGiB);
  EXPECT_TRUE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
}

TEST(Scheduler, ANewDaemonTakesTheLivingOver) {
  Script script;
  script.Join(1, 1);
  script.Join(2, 2);
  Scheduler& scheduler = script.scheduler();
  scheduler.ClientResumed(script.now(), 1, Script::kGpu, Footprint{12 * kGiB, 0, 0, kGiB},
                          13 * kGiB, true);
  scheduler.ClientResumed(script.now(), 2, Script::kGpu, Footprint{0, 12 * kGiB, 0, kGiB}, kGiB,
                          false);
  std::vector<Decision> decisions = scheduler.TakeDecisions();
  EXPECT_EQ(script.JobOf(1).state, JobState::kRunning);
  EXPECT_EQ(script.JobOf(2).state, JobState::kWaiting);  // nobody need say again that it waits
  EXPECT_EQ(script.GpuOf().credit_out, 14 * kGiB);
}

// What the first to come back asks for may be what the next one holds.
TEST(Scheduler, ANewDaemonGivesNothingNewUntilAllHaveComeBack) {
  Script script;
  Scheduler& scheduler = script.scheduler();
  for (ClientId client : {1, 2, 3}) script.Join(client, client);
  const Footprint books{0, 0, 6 * kGiB, kGiB};
  scheduler.ClientResumed(script.now(), 1, Script::kGpu, books, 7 * kGiB, true);
  scheduler.GrowthWanted(script.now(), 1, 7, Script::kGpu, GrowthKind::kPinned, 6 * kGiB);
  scheduler.ContextWanted(script.now(), 3, Script::kGpu);
  scheduler.Tick(milliseconds(500));
  scheduler.ClientResumed(milliseconds(500), 2, Script::kGpu, books, 7 * kGiB, true);
  const Time settled = milliseconds(500) + Script::DefaultConfig().takeover_settles;
  EXPECT_EQ(scheduler.NextWakeup(), settled);
  scheduler.Tick(settled - milliseconds(1));
  for (const Decision& decision : scheduler.TakeDecisions()) {
    EXPECT_FALSE(std::holds_alternative<AnswerGrowth>(decision));
    EXPECT_FALSE(std::holds_alternative<AdmitContext>(decision));
  }
  scheduler.Tick(settled);
  bool admitted = false;
  for (const Decision& decision : scheduler.TakeDecisions()) {
    EXPECT_FALSE(std::holds_alternative<AnswerGrowth>(decision));  // 2 holds what 1 asks for
    admitted = admitted || std::holds_alternative<AdmitContext>(decision);
  }
  EXPECT_TRUE(admitted);
}

// Also where no arena was asked for yet, what is evicted has its place.
TEST(Scheduler, ANewDaemonReservesHostMemoryForWhatItEvicts) {
  Script script;
  for (ClientId client : {1, 2}) script.Join(client, client);
  Scheduler& scheduler = script.scheduler();
  for (ClientId client : {1, 2}) {
    scheduler.ClientResumed(script.now(), client, Script::kGpu, Footprint{9 * kGiB, 0, 0, kGiB},
                            10 * kGiB, true);
  }
  for (const Decision& decision : scheduler.TakeDecisions()) {
    if (const auto* close = std::get_if<CloseGate>(&decision)) {
      scheduler.GateClosed(script.now(), close->client, close->serial);
    }
  }
  EXPECT_EQ(scheduler.HostReserved(), 4 * kGiB);
}

// What a client that has not come back yet has reserved already may not be given away.
TEST(Scheduler, ANewDaemonAsksForNoArenasUntilAllHaveComeBack) {
  Script script;
  script.Join(1, 1);
  Scheduler& scheduler = script.scheduler();
  scheduler.ClientResumed(script.now(), 1, Script::kGpu, Footprint{0, 17 * kGiB, 0, kGiB}, kGiB,
                          false);
  EXPECT_TRUE(scheduler.TakeDecisions().empty());
  scheduler.Tick(Script::DefaultConfig().takeover_settles);
  const std::vector<Decision> decisions = scheduler.TakeDecisions();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<PrepareArena>(decisions[0]));
}

TEST(Scheduler, MoreThanTheBudgetAfterATakeoverIsEvictedBeforeAnythingIsGiven) {
  Script script;
  script.Join(1, 1);
  script.Join(2, 2);
  Scheduler& scheduler = script.scheduler();
  for (ClientId client : {1, 2}) {
    scheduler.ClientResumed(script.now(), client, Script::kGpu, Footprint{9 * kGiB, 0, 0, kGiB},
                            10 * kGiB, true);
  }
  bool closed = false;
  for (const Decision& decision : scheduler.TakeDecisions()) {
    closed = closed || std::holds_alternative<CloseGate>(decision);
    EXPECT_FALSE(std::holds_alternative<GiveCredit>(decision));
  }
  EXPECT_TRUE(closed);
}

TEST(Scheduler, TheSameEventsGiveTheSameDecisions) {
  const auto play = [] {
    Script script;
    for (ClientId client : {5, 3, 9}) script.Newcomer(client, 7 * kGiB);
    for (ClientId client : {9, 3, 5}) script.Want(client);
    script.Wait(seconds(100));
    std::vector<std::size_t> kinds;
    for (const Decision& decision : script.log) kinds.push_back(decision.index());
    return kinds;
  };
  EXPECT_EQ(play(), play());
}

TEST(Scheduler, SleepsWhenNobodyWaits) {
  Script script;
  script.Newcomer(1, 12 * kGiB);
  script.Want(1);
  EXPECT_FALSE(script.scheduler().NextWakeup());
  script.Newcomer(2, 12 * kGiB);
  EXPECT_FALSE(script.scheduler().NextWakeup());
  script.Want(2);
  EXPECT_EQ(script.scheduler().NextWakeup(), script.JobOf(1).slice_ends);
}

TEST(Scheduler, AChangedConfigurationCountsFromTheNextDecisionOn) {
  Script script;
  script.Newcomer(1, 12 * kGiB);
  script.Newcomer(2, 12 * kGiB);
  script.Want(1);
  script.Want(2);
  Config config = Script::DefaultConfig();
  config.slice_floor = config.slice_ceiling = seconds(3);
  script.scheduler().SetConfig(config);
  script.scheduler().Tick(script.now());
  EXPECT_EQ(script.scheduler().NextWakeup(), seconds(3));
}

}  // namespace
}  // namespace reveza::scheduler
