#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace contexts_test {

// Contexts of 9 GiB: two do not fit on the GPU of 16 GiB.
constexpr Bytes kLarge = 9 * kGiB;

Config Releasing(Time after) {
  Config config = Script::DefaultConfig();
  config.release_contexts_after = after;
  config.context_estimate = kGiB;
  return config;
}

// A client of a job of its own, whose contexts can leave, that waits for its turn.
void Add(Script& script, ClientId client, Bytes context, Bytes memory) {
  script.Join(client, client);
  script.MakeMovable(client);
  script.MakeContext(client, context);
  script.Allocate(client, memory);
  script.Want(client);
}

std::size_t Released(const Script& script) { return script.All<ReleaseContexts>().size(); }
std::size_t Restored(const Script& script) { return script.All<RestoreContexts>().size(); }

// Client 1 is suspended, without memory on the GPU, client 2 runs.
void SuspendFirst(Script& script, Bytes context = kGiB) {
  Add(script, 1, context, 8 * kGiB);
  ASSERT_TRUE(script.Open(1));
  Add(script, 2, context, 14 * kGiB);
  script.Idle(1);
  ASSERT_TRUE(script.Open(2));
  ASSERT_EQ(script.CardOf(1).footprint.resident, 0u);
}

TEST(Contexts, OfAnIdleJobLeaveAfterTheTime) {
  Script script(Releasing(seconds(20)));
  SuspendFirst(script);
  script.Wait(seconds(10));
  EXPECT_EQ(Released(script), 0u);
  script.Wait(seconds(11));
  ASSERT_EQ(Released(script), 1u);
  EXPECT_EQ(script.All<ReleaseContexts>()[0].client, 1u);
  EXPECT_TRUE(script.ClientOf(1).contexts_away);
  EXPECT_EQ(script.ClientOf(1).gpus[0].credit, 0u);
  EXPECT_EQ(script.GpuOf().outstanding_credit, 15 * kGiB) << "of the other";
}

TEST(Contexts, ComeBackBeforeTheGateOpens) {
  Script script(Releasing(seconds(20)));
  SuspendFirst(script);
  script.Wait(seconds(21));
  ASSERT_TRUE(script.ClientOf(1).contexts_away);
  script.log.clear();
  script.Want(1);
  script.Wait(seconds(60));
  ASSERT_TRUE(script.Open(1));
  EXPECT_EQ(Restored(script), 1u);
  bool restored = false;
  for (const Decision& decision : script.log) {
    restored = restored || std::holds_alternative<RestoreContexts>(decision);
    const auto* in = std::get_if<SwapIn>(&decision);
    const auto* open = std::get_if<OpenGate>(&decision);
    if ((in != nullptr && in->client == 1) || (open != nullptr && open->client == 1)) {
      EXPECT_TRUE(restored);
    }
  }
  EXPECT_FALSE(script.ClientOf(1).contexts_away);
}

TEST(Contexts, OfAJobThatWantsATurnStayWhereTheyFit) {
  Script script(Releasing(milliseconds(10)));
  Add(script, 1, kGiB, 8 * kGiB);
  Add(script, 2, kGiB, 10 * kGiB);
  for (int turn = 0; turn < 20; ++turn) {
    script.Want(1);
    script.Want(2);
    script.Wait(seconds(10));
  }
  EXPECT_EQ(Released(script), 0u);
  EXPECT_GT(script.JobOf(1).turns, 3u);
}

TEST(Contexts, StayWithoutTheSettingAndOfClientsThatCannot) {
  Script never(Releasing(Time(0)));
  SuspendFirst(never);
  never.Wait(seconds(4000));
  EXPECT_EQ(Released(never), 0u);

  Script old(Releasing(seconds(20)));
  old.AddClient(1, 8 * kGiB);
  old.Want(1);
  Add(old, 2, kGiB, 14 * kGiB);
  old.Wait(seconds(60));
  old.Idle(1);
  old.Wait(seconds(4000));
  EXPECT_EQ(Released(old), 0u);
}

TEST(Contexts, OfAPausedJobLeaveAtOnce) {
  Script script(Releasing(seconds(4000)));
  Add(script, 1, kGiB, 8 * kGiB);
  ASSERT_TRUE(script.Open(1));
  Policy paused;
  paused.paused = true;
  script.SetPolicy(1, paused);
  EXPECT_TRUE(script.ClientOf(1).contexts_away);
  EXPECT_EQ(script.GpuOf().outstanding_credit, 0u);
  script.Want(1);
  script.Wait(seconds(100));
  EXPECT_EQ(Restored(script), 0u);
  script.SetPolicy(1, Policy{});
  script.Want(1);
  EXPECT_TRUE(script.Open(1));
}

TEST(Contexts, NewContextTakesTheRoomOfAnIdleOne) {
  Script script(Releasing(seconds(4000)));
  Add(script, 1, kLarge, kGiB);
  script.Idle(1);
  Add(script, 2, kLarge, kGiB);
  EXPECT_TRUE(script.ClientOf(1).contexts_away);
  EXPECT_TRUE(script.Open(2));
  script.Want(1);
  script.Wait(seconds(60));
  EXPECT_TRUE(script.Open(1) || script.ClientOf(2).contexts_away);
}

TEST(Contexts, OfBusyJobsThatDoNotFitTakeTurns) {
  Script script(Releasing(seconds(4000)));
  Add(script, 1, kLarge, kGiB);
  Add(script, 2, kLarge, kGiB);
  for (int turn = 0; turn < 20; ++turn) {
    script.Want(1);
    script.Want(2);
    script.Wait(seconds(40));
  }
  EXPECT_GT(script.JobOf(1).turns, 3u);
  EXPECT_GT(script.JobOf(2).turns, 3u);
  EXPECT_LE(script.GpuOf().outstanding_credit, 16 * kGiB);
}

TEST(Contexts, OnlyAsManyLeaveAsNecessary) {
  Script script(Releasing(seconds(4000)));
  for (ClientId client = 1; client <= 4; ++client) {
    Add(script, client, 3 * kGiB, kGiB / 2);
    script.Idle(client);
  }
  Add(script, 5, 3 * kGiB, 2 * kGiB);
  script.Wait(seconds(60));
  EXPECT_TRUE(script.Open(5));
  EXPECT_EQ(Released(script), 1u);
}

TEST(Contexts, ARefusalIsNeverAskedAgain) {
  Script script(Releasing(seconds(20)));
  script.release_outcome = ContextRelease::kRefused;
  SuspendFirst(script);
  script.Wait(seconds(4000));
  EXPECT_EQ(Released(script), 1u);
  EXPECT_EQ(script.ClientOf(1).gpus[0].credit, kGiB);
}

TEST(Contexts, ABusyClientIsAskedAgainWithGrowingPauses) {
  Script script(Releasing(seconds(20)));
  script.release_outcome = ContextRelease::kBusy;
  SuspendFirst(script);
  script.Wait(seconds(20 + 16));
  EXPECT_GE(Released(script), 4u);  // after 1, 2, 4, 8 seconds
  EXPECT_LE(Released(script), 6u);
}

TEST(Contexts, ThatComeBackTooEarlyStayLonger) {
  Script script(Releasing(seconds(20)));
  SuspendFirst(script);
  script.Wait(seconds(21));
  ASSERT_EQ(Released(script), 1u);
  script.Want(1);  // at once
  script.Wait(seconds(40));
  ASSERT_TRUE(script.Open(1));
  script.Idle(1);
  script.Want(2);
  script.Wait(seconds(1));
  ASSERT_FALSE(script.Open(1));
  script.Wait(seconds(25));
  EXPECT_EQ(Released(script), 1u);
  script.Wait(seconds(20));
  EXPECT_EQ(Released(script), 2u);
}

TEST(Contexts, AwayTakeHostMemoryWithinTheBudget) {
  Config config = Releasing(seconds(20));
  config.host_budget = 9 * kGiB;  // for the memory of the first, and nothing else
  Script script(config);
  Add(script, 1, kGiB, 8 * kGiB);
  Add(script, 2, 2 * kGiB, 13 * kGiB);
  script.Wait(seconds(60));
  script.Idle(1);
  script.Wait(seconds(100));
  EXPECT_LE(script.scheduler().HostReserved(), 9 * kGiB);
}

TEST(Contexts, JobWhoseContextsLeaveWaitsUntilTheyHaveLeft) {
  Script script(Releasing(seconds(20)));
  SuspendFirst(script);
  script.hold_releases = true;
  script.Wait(seconds(21));
  ASSERT_TRUE(script.IsReleasing(1));
  script.Want(1);
  script.Wait(seconds(20));
  EXPECT_FALSE(script.Open(1));
  EXPECT_EQ(Restored(script), 0u);
  script.FinishHeldRelease(1);
  script.Wait(seconds(40));
  EXPECT_EQ(Restored(script), 1u);
  EXPECT_TRUE(script.Open(1));
}

TEST(Contexts, UnansweredReleaseTimesOut) {
  Script script(Releasing(seconds(20)));
  SuspendFirst(script);
  script.hold_releases = true;
  script.Wait(seconds(60));
  EXPECT_TRUE(script.ClientOf(1).unresponsive);
  script.FinishHeldRelease(1);
  EXPECT_FALSE(script.ClientOf(1).unresponsive);
  EXPECT_TRUE(script.ClientOf(1).contexts_away);
}

TEST(Contexts, DeathWhileAwayLeavesNothing) {
  Script script(Releasing(seconds(20)));
  SuspendFirst(script);
  script.Wait(seconds(21));
  const Bytes before = script.GpuOf().outstanding_credit;
  script.Leave(1);
  EXPECT_EQ(script.GpuOf().outstanding_credit, before);
}

TEST(Contexts, AwayAreAdoptedAndComeBackOnlyWhenAllClientsHaveResumed) {
  Script script(Releasing(seconds(20)));
  script.Join(1, 1);
  script.MakeMovable(1);
  script.scheduler().ContextsAway(script.now(), 1);
  script.scheduler().ClientResumed(script.now(), 1, 0, Footprint{.swapped = kGiB, .context = kGiB},
                                   0, false);
  script.DeliverDecisions();
  EXPECT_TRUE(script.ClientOf(1).contexts_away);
  EXPECT_EQ(script.GpuOf().outstanding_credit, kGiB) << "of its contexts: it enters";
  EXPECT_EQ(Restored(script), 0u) << "another client may hold the memory";
  script.Wait(seconds(2));
  EXPECT_EQ(Restored(script), 1u);
}

}  // namespace contexts_test
}  // namespace reveza::scheduler
