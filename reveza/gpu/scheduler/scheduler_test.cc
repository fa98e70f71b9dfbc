#include "reveza/gpu/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace scheduler_test {

TEST(Scheduler, IgnoresUnknownClientsAndGpus) {
  Scheduler scheduler{Config{}};
  const Time now(1);
  scheduler.ClientLeft(now, 1);
  scheduler.ContextRequested(now, 1, 0);
  scheduler.ContextCreated(now, 1, 0, kMiB);
  scheduler.GrowthRequested(now, 1, 1, 0, GrowthKind::kPinned, kMiB);
  scheduler.AccountChanged(now, 1, 0, Footprint{}, kMiB, 0);
  scheduler.GateRequested(now, 1);
  scheduler.BecameIdle(now, 1);
  scheduler.GateClosed(now, 1, 1);
  scheduler.DrainFailed(now, 1, 1);
  scheduler.Evicted(now, 1, 1, 0, EvictFailure::kDriver);
  scheduler.SwappedIn(now, 1, 1);
  scheduler.SetExternal(now, 3, kMiB);
  scheduler.ClientResumed(now, 1, 0, Footprint{}, 0, true);
  EXPECT_TRUE(scheduler.TakeDecisions().empty());
  EXPECT_FALSE(scheduler.NextWakeup());
}

// What is remembered of an event has the scheduler's time, which never decreases: memory or a
// request with an earlier time would count as old.
TEST(Scheduler, EventWithEarlierTimeDoesNotAge) {
  constexpr Bytes kTotal = 16 * kGiB;
  const auto started = [](Scheduler& scheduler) {
    scheduler.SetGpu(seconds(100), 0, GpuConfig{kTotal, kTotal, 64 * kMiB});
    scheduler.ClientJoined(seconds(100), 1, 1, false);
  };
  {
    SCOPED_TRACE("external memory");
    Scheduler scheduler{Config{}};
    started(scheduler);
    scheduler.SetExternal(seconds(10), 0, kTotal);
    scheduler.ContextRequested(seconds(100), 1, 0);
    EXPECT_TRUE(scheduler.TakeDecisions().empty());
    scheduler.Tick(seconds(130));
    EXPECT_EQ(scheduler.TakeDecisions().size(), 1u);
  }
  {
    SCOPED_TRACE("a context");
    Scheduler scheduler{Config{}};
    started(scheduler);
    scheduler.SetExternal(seconds(100), 0, kTotal);
    scheduler.ContextRequested(seconds(10), 1, 0);
    EXPECT_TRUE(scheduler.TakeDecisions().empty());
  }
  {
    SCOPED_TRACE("a growth");
    Scheduler scheduler{Config{}};
    started(scheduler);
    scheduler.ContextRequested(seconds(100), 1, 0);
    scheduler.ContextCreated(seconds(100), 1, 0, kMiB);
    scheduler.SetExternal(seconds(100), 0, kTotal);
    static_cast<void>(scheduler.TakeDecisions());
    scheduler.GrowthRequested(seconds(10), 1, 1, 0, GrowthKind::kPinned, kMiB);
    EXPECT_TRUE(scheduler.TakeDecisions().empty());
  }
}

TEST(Scheduler, ReturnedCreditIsClamped) {
  Script script;
  script.AddClient(1, kGiB);
  script.Want(1);
  script.scheduler().AccountChanged(script.now(), 1, Script::kGpu, Footprint{0, 0, 0, 512 * kMiB},
                                    100 * kGiB, 0);
  EXPECT_EQ(script.GpuOf().outstanding_credit, 512 * kMiB);
}

TEST(Scheduler, HeldMemoryWithoutCreditIsCounted) {
  Script script;
  script.AddClient(1, kGiB);
  script.scheduler().AccountChanged(script.now(), 1, Script::kGpu,
                                    Footprint{0, kGiB, 0, 700 * kMiB}, 0, 0);
  EXPECT_EQ(script.GpuOf().outstanding_credit, 700 * kMiB);
}

TEST(Scheduler, FreedMemoryAdmitsNextJob) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  script.AddClient(2, 8 * kGiB);
  script.Want(2);
  EXPECT_FALSE(script.Open(2));
  script.Free(1, 6 * kGiB);
  EXPECT_TRUE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
}

TEST(Scheduler, TakeoverAdoptsRunningClients) {
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
  EXPECT_EQ(script.JobOf(2).state, JobState::kWaiting);  // no second GateRequested is needed
  EXPECT_EQ(script.GpuOf().outstanding_credit, 14 * kGiB);
}

// The memory that the first client requests may be held by one that has not reconnected.
TEST(Scheduler, TakeoverGrantsNothingUntilSettled) {
  Script script;
  Scheduler& scheduler = script.scheduler();
  for (ClientId client : {1, 2, 3}) script.Join(client, client);
  const Footprint footprint{0, 0, 6 * kGiB, kGiB};
  scheduler.ClientResumed(script.now(), 1, Script::kGpu, footprint, 7 * kGiB, true);
  scheduler.GrowthRequested(script.now(), 1, 7, Script::kGpu, GrowthKind::kPinned, 6 * kGiB);
  scheduler.ContextRequested(script.now(), 3, Script::kGpu);
  scheduler.Tick(milliseconds(500));
  scheduler.ClientResumed(milliseconds(500), 2, Script::kGpu, footprint, 7 * kGiB, true);
  const Time settled = milliseconds(500) + Script::DefaultConfig().takeover_settle_time;
  EXPECT_EQ(scheduler.NextWakeup(), settled);
  scheduler.Tick(settled - milliseconds(1));
  for (const Decision& decision : scheduler.TakeDecisions()) {
    EXPECT_FALSE(std::holds_alternative<AnswerGrowth>(decision));
    EXPECT_FALSE(std::holds_alternative<AdmitContext>(decision));
  }
  scheduler.Tick(settled);
  bool admitted = false;
  for (const Decision& decision : scheduler.TakeDecisions()) {
    EXPECT_FALSE(std::holds_alternative<AnswerGrowth>(decision));  // 2 holds what 1 requests
    admitted = admitted || std::holds_alternative<AdmitContext>(decision);
  }
  EXPECT_TRUE(admitted);
}

// Evicted memory is reserved even if no arena was requested yet.
TEST(Scheduler, TakeoverReservesHostMemoryForEvictions) {
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

// Host memory of a client that has not reconnected yet must not be granted to others.
TEST(Scheduler, TakeoverRequestsNoArenasUntilSettled) {
  Script script;
  script.Join(1, 1);
  Scheduler& scheduler = script.scheduler();
  scheduler.ClientResumed(script.now(), 1, Script::kGpu, Footprint{0, 17 * kGiB, 0, kGiB}, kGiB,
                          false);
  EXPECT_TRUE(scheduler.TakeDecisions().empty());
  scheduler.Tick(Script::DefaultConfig().takeover_settle_time);
  const std::vector<Decision> decisions = scheduler.TakeDecisions();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<PrepareArena>(decisions[0]));
}

TEST(Scheduler, TakeoverBeyondBudgetEvictsBeforeGranting) {
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

TEST(Scheduler, EqualEventsGiveEqualDecisions) {
  const auto play = [] {
    Script script;
    for (ClientId client : {5, 3, 9}) script.AddClient(client, 7 * kGiB);
    for (ClientId client : {9, 3, 5}) script.Want(client);
    script.Wait(seconds(100));
    std::vector<std::size_t> kinds;
    for (const Decision& decision : script.log) kinds.push_back(decision.index());
    return kinds;
  };
  EXPECT_EQ(play(), play());
}

TEST(Scheduler, HasNoWakeupWhenNothingWaits) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  EXPECT_FALSE(script.scheduler().NextWakeup());
  script.AddClient(2, 12 * kGiB);
  EXPECT_FALSE(script.scheduler().NextWakeup());
  script.Want(2);
  EXPECT_EQ(script.scheduler().NextWakeup(),
            script.JobOf(1).slice_ends - 2 * Script::DefaultConfig().queue_bound);
}

}  // namespace scheduler_test
}  // namespace reveza::scheduler
