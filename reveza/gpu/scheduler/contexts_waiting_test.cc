// Contexts that leave while their jobs, or others, wait for memory, contexts and turns.
#include <gtest/gtest.h>

#include <algorithm>

#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace contexts_waiting_test {

Config Releasing(Time after) {
  Config config = Script::DefaultConfig();
  config.release_contexts_after = after;
  config.context_estimate = kGiB;
  return config;
}

void AddMovable(Script& script, ClientId client, Bytes context, Bytes memory) {
  script.Join(client, client);
  script.MakeMovable(client);
  script.MakeContext(client, context);
  if (memory > 0) script.Allocate(client, memory);
}

Policy Paused() {
  Policy policy;
  policy.paused = true;
  return policy;
}

// Returns the position of the first decision of a kind for a client in the log, or its size.
template <typename Kind>
std::size_t PositionOf(const Script& script, ClientId client) {
  const auto found = std::ranges::find_if(script.log, [&](const Decision& decision) {
    const auto* order = std::get_if<Kind>(&decision);
    return order != nullptr && order->client == client;
  });
  return static_cast<std::size_t>(found - script.log.begin());
}

TEST(WaitingContexts, LeaveAfterATurnThatWasAbandonedBeforeItHadCredit) {
  Script script(Releasing(seconds(4000)));
  AddMovable(script, 1, kGiB, 8 * kGiB);
  AddMovable(script, 2, kGiB, 14 * kGiB);
  script.Want(2);
  ASSERT_TRUE(script.Open(2));
  script.hold_evictions = true;
  script.Want(1);
  script.Idle(2);
  ASSERT_LT(PositionOf<SwapIn>(script, 1), script.log.size());
  ASSERT_EQ(script.CardOf(1).footprint.resident, 0u);
  script.SetPolicy(1, Paused());
  EXPECT_TRUE(script.ClientOf(1).contexts_away);
}

TEST(WaitingContexts, ComeBackBeforeAnotherIsMadeThatWasRequestedMeanwhile) {
  Script script(Releasing(seconds(20)));
  AddMovable(script, 1, kGiB, 0);
  script.hold_releases = true;
  script.Wait(seconds(21));
  ASSERT_TRUE(script.IsReleasing(1));
  script.log.clear();
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  script.FinishHeldRelease(1);
  ASSERT_LT(PositionOf<AdmitContext>(script, 1), script.log.size());
  EXPECT_LT(PositionOf<RestoreContexts>(script, 1), PositionOf<AdmitContext>(script, 1));
  EXPECT_FALSE(script.ClientOf(1).contexts_away);
}

// A job that enters has credit on one GPU for contexts that are still away, and waits for another
// GPU. Its credit is free for a job that comes before it.
TEST(WaitingContexts, GiveTheirCreditBackToAJobThatPreempts) {
  constexpr GpuId kOther = 1;
  Script script(Releasing(seconds(4000)));
  script.SetBudget(kOther, 16 * kGiB);
  script.AddClient(2, 14 * kGiB, kOther);
  script.AddClient(3, 8 * kGiB);
  AddMovable(script, 1, 9 * kGiB, 0);
  script.MakeContext(1, 9 * kGiB, kOther);
  script.SetPolicy(1, Paused());
  ASSERT_TRUE(script.ClientOf(1).contexts_away);
  script.Want(2);
  ASSERT_TRUE(script.Open(2));
  Policy interactive;
  interactive.interactive = true;
  script.SetPolicy(3, interactive);
  script.hold_evictions = true;
  script.SetPolicy(1, Policy{});
  script.Want(1);
  script.Idle(2);
  ASSERT_EQ(script.JobOf(1).state, JobState::kEntering);
  ASSERT_GE(script.ClientOf(1).gpus[0].credit, 9 * kGiB);
  script.Want(3);
  EXPECT_TRUE(script.Open(3));
}

// What leaves takes its credit along: the job needs that again when it enters.
TEST(WaitingContexts, ThatAreLeavingAreMissingWhenTheirJobEnters) {
  Script script(Releasing(seconds(20)));
  AddMovable(script, 1, 9 * kGiB, 5 * kGiB);
  script.AddClient(2, 5 * kGiB);
  script.Want(2);
  ASSERT_TRUE(script.Open(2));
  script.hold_releases = true;
  script.Wait(seconds(21));
  ASSERT_TRUE(script.IsReleasing(1));
  script.Want(1);
  script.Idle(2);
  ASSERT_EQ(script.JobOf(1).state, JobState::kEntering);
  ASSERT_TRUE(script.IsReleasing(1));
  const auto evictions = script.All<Evict>();
  ASSERT_EQ(evictions.size(), 1u);
  EXPECT_EQ(evictions[0].client, 2u);
}

// Runs two jobs with contexts of 8 and 9 GiB, of which the second was expected to be smaller: on 16
// GiB neither can run beside the other's contexts.
void ExpectTurns(Script& script) {
  script.Allocate(1, kGiB);
  script.Allocate(2, kGiB);
  for (int turn = 0; turn < 4; ++turn) {
    script.Want(1);
    script.Want(2);
    script.Wait(seconds(100));
  }
  EXPECT_GT(script.JobOf(1).turns, 1u);
  EXPECT_GT(script.JobOf(2).turns, 1u);
}

// The host has no room for both, which a handover needs. One of them runs to its end at least.
TEST(WaitingContexts, LeaveForTheFirstWhereTheHostHasNoRoomForAll) {
  Config config = Releasing(seconds(4000));
  config.host_budget = 12 * kGiB;
  Script script(config);
  AddMovable(script, 1, 8 * kGiB, 0);
  AddMovable(script, 2, 9 * kGiB, 0);
  script.Allocate(1, kGiB);
  script.Allocate(2, kGiB);
  script.Want(1);
  script.Want(2);
  script.Wait(seconds(100));
  ASSERT_NE(script.Open(1), script.Open(2));
  const ClientId running = script.Open(1) ? 1 : 2;
  script.Leave(running);
  script.Wait(seconds(10));
  EXPECT_TRUE(script.Open(3 - running));
}

TEST(WaitingContexts, LeaveIfTheRequestOfTheirJobIsLess) {
  Script script(Releasing(seconds(4000)));
  Policy small;
  small.request = kGiB;
  for (const ClientId client : {1, 2}) {
    script.Join(client, client);
    script.MakeMovable(client);
    script.SetPolicy(client, small);
    script.MakeContext(client, (7 + client) * kGiB);
  }
  ExpectTurns(script);
}

TEST(WaitingContexts, StayIfTheRequestOfTheirJobCoversThem) {
  Script script(Releasing(seconds(20)));
  Policy large;
  large.request = 2 * kGiB;
  AddMovable(script, 1, kGiB, kGiB);
  script.SetPolicy(1, large);
  script.Wait(seconds(4000));
  EXPECT_EQ(script.All<ReleaseContexts>().size(), 0u);
}

// A restarted daemon hears of one client, whose gate is open, before the other can say that its
// contexts are away.
TEST(WaitingContexts, ComeBackAlthoughTheGateWasOrderedToOpen) {
  Script script(Releasing(seconds(4000)));
  script.Join(1, 1);
  script.Join(2, 1);
  Footprint contexts;
  contexts.context = kGiB;
  script.scheduler().ClientResumed(script.now(), 1, Script::kGpu, contexts, kGiB, true);
  auto decisions = script.scheduler().TakeDecisions();
  const auto opens = [&](ClientId client) {
    return std::ranges::any_of(decisions, [&](const Decision& decision) {
      const auto* open = std::get_if<OpenGate>(&decision);
      return open != nullptr && open->client == client;
    });
  };
  ASSERT_TRUE(opens(2));
  script.scheduler().ContextsAway(script.now(), 2);
  script.scheduler().ClientResumed(script.now(), 2, Script::kGpu, contexts, 0, false);
  script.scheduler().Tick(script.now() + seconds(2));
  decisions = script.scheduler().TakeDecisions();
  EXPECT_TRUE(std::ranges::any_of(decisions, [](const Decision& decision) {
    const auto* restore = std::get_if<RestoreContexts>(&decision);
    return restore != nullptr && restore->client == 2;
  }));
}

// It is no decision that a job which enters is given credit for contexts that are still away.
TEST(WaitingContexts, CreditForThemMakesAnotherPassFollow) {
  Script script(Releasing(seconds(20)), 15 * kGiB + 512 * kMiB);
  AddMovable(script, 1, kGiB, 8 * kGiB);
  AddMovable(script, 2, kGiB, 14 * kGiB);
  script.Want(2);
  ASSERT_TRUE(script.Open(2));
  script.Wait(seconds(21));
  ASSERT_TRUE(script.ClientOf(1).contexts_away);
  script.hold_evictions = true;
  script.Want(1);
  for (int i = 0; i < 60 && !script.IsEvicting(2); ++i) script.Wait(seconds(1));
  ASSERT_TRUE(script.IsEvicting(2));
  ASSERT_EQ(script.ClientOf(1).gpus[0].credit, 512 * kMiB);
  script.EvictHeldPiece(2, 256 * kMiB);
  EXPECT_EQ(script.ClientOf(1).gpus[0].credit, 768 * kMiB);
  EXPECT_EQ(script.scheduler().Passes(), 2);
}

}  // namespace contexts_waiting_test
}  // namespace reveza::scheduler
