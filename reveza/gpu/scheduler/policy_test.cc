// Tests of pauses, requests and limits.
#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace policy_test {

TEST(Pause, ClosesTheGateAndEvictsEverything) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.Want(1);
  ASSERT_TRUE(script.Open(1));
  script.SetPolicy(1, {.paused = true});
  EXPECT_FALSE(script.Open(1));
  EXPECT_EQ(script.CardOf(1).footprint.resident, 0u);
  EXPECT_EQ(script.CardOf(1).footprint.swapped, 4 * kGiB);
  EXPECT_EQ(script.JobOf(1).state, JobState::kPaused);
  EXPECT_EQ(script.JobOf(1).why, WaitReason::kPaused);
  script.Want(1);
  script.Wait(seconds(600));
  EXPECT_FALSE(script.Open(1));
  script.SetPolicy(1, {});
  EXPECT_TRUE(script.Open(1));
  EXPECT_EQ(script.CardOf(1).footprint.resident, 4 * kGiB);
}

TEST(Pause, OthersRunMeanwhile) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  script.AddClient(2, 12 * kGiB);
  script.Want(2);
  ASSERT_FALSE(script.Open(2));
  script.SetPolicy(1, {.paused = true});
  EXPECT_TRUE(script.Open(2));
  script.Want(1);
  for (const SetContention& hint : script.All<SetContention>()) EXPECT_EQ(hint.client, 1u);
  script.Wait(seconds(600));
  EXPECT_TRUE(script.Open(2)) << "a paused job takes no turns";
}

TEST(Pause, OfAJobThatDoesNotDrainIsTriedAgain) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.Want(1);
  script.hold_gates = true;
  script.SetPolicy(1, {.paused = true});
  ASSERT_TRUE(script.IsClosing(1));
  script.FailHeldGate(1);
  EXPECT_FALSE(script.IsClosing(1));
  script.Wait(Script::DefaultConfig().drain_retry);
  ASSERT_TRUE(script.IsClosing(1));
  script.CloseHeldGate(1);
  EXPECT_EQ(script.CardOf(1).footprint.resident, 0u);
}

TEST(Pause, WhileItEntersEndsTheEntry) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  script.AddClient(2, 12 * kGiB);
  script.Want(2);
  script.hold_evictions = true;
  script.Idle(1);
  ASSERT_EQ(script.JobOf(2).state, JobState::kEntering);
  script.SetPolicy(2, {.paused = true});
  EXPECT_EQ(script.JobOf(2).state, JobState::kPaused);
  script.hold_evictions = false;
  script.FinishHeldEviction(1);
  EXPECT_FALSE(script.Open(2));
}

TEST(Pause, MemoryAllocatedMeanwhileStaysOff) {
  Script script;
  script.AddClient(1, kGiB);
  script.SetPolicy(1, {.paused = true});
  script.Grow(1, 7, kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
  script.Grow(1, 8, kGiB, GrowthKind::kPinned);
  script.Wait(seconds(600));
  EXPECT_FALSE(script.Answered(8));
  script.SetPolicy(1, {});
  EXPECT_EQ(script.AnswerTo(8), Growth::kGranted);
}

TEST(Pause, ContextsWait) {
  Script script;
  script.Join(1, 1);
  script.SetPolicy(1, {.paused = true});
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_TRUE(script.All<AdmitContext>().empty());
  script.SetPolicy(1, {});
  EXPECT_EQ(script.All<AdmitContext>().size(), 1u);
}

TEST(Pause, GrowthIsNotRefusedForADeadlock) {
  Script script;
  for (const ClientId client : {1, 2}) {
    script.AddClient(client, kGiB);
    script.Want(client);
    script.Grow(client, static_cast<std::uint32_t>(client), 5 * kGiB, GrowthKind::kPinned);
  }
  script.Grow(1, 11, 6 * kGiB, GrowthKind::kPinned);
  script.SetPolicy(1, {.paused = true});
  script.Grow(2, 12, 6 * kGiB, GrowthKind::kPinned);
  script.Wait(seconds(600));
  EXPECT_FALSE(script.Answered(11)) << "it is paused";
  EXPECT_FALSE(script.Answered(12)) << "the other may go on and end";
}

TEST(Request, IsNotEvicted) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.SetPolicy(1, {.request = 6 * kGiB});
  script.Want(1);
  script.Idle(1);
  script.AddClient(2, 9 * kGiB);
  script.Want(2);
  EXPECT_TRUE(script.Open(2));
  const Footprint& footprint = script.CardOf(1).footprint;
  EXPECT_GE(footprint.resident + footprint.context, 6 * kGiB);
  EXPECT_GT(footprint.swapped, 0u);
}

TEST(Request, OthersCannotKeepWhatIsPromised) {
  Script script;
  script.AddClient(1, 0);
  script.SetPolicy(1, {.request = 8 * kGiB});
  script.AddClient(2, 0);
  script.Want(2);
  script.Grow(2, 7, 7 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  script.Grow(2, 8, kGiB);
  EXPECT_FALSE(script.Answered(8));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
  script.SetPolicy(1, {});
  EXPECT_EQ(script.AnswerTo(8), Growth::kGranted);
}

// What is not used is lent, and given back at once.
TEST(Request, GrowthWithinItClosesOthersInTheirSlice) {
  Script script;
  script.AddClient(2, 6 * kGiB);
  script.AddClient(3, 6 * kGiB);
  script.Want(2);
  script.Want(3);
  script.AddClient(1, 0);
  script.SetPolicy(1, {.request = 4 * kGiB});
  script.Want(1);
  ASSERT_TRUE(script.Open(1) && script.Open(2) && script.Open(3));
  script.Grow(1, 7, 3 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  EXPECT_FALSE(script.Open(2) && script.Open(3));
}

TEST(Request, ThatCannotBeKeptIsRefusedAtTheFirstContext) {
  Script script;
  script.AddClient(1, kGiB);
  script.SetPolicy(1, {.request = 10 * kGiB});
  script.Join(2, 2);
  script.SetPolicy(2, {.request = 7 * kGiB});
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  ASSERT_EQ(script.All<RefuseContext>().size(), 1u);
  EXPECT_EQ(script.All<RefuseContext>()[0].client, 2u);
  EXPECT_EQ(script.All<RefuseContext>()[0].max_request, 6 * kGiB);
  script.SetPolicy(2, {.request = 6 * kGiB});
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.All<AdmitContext>().back().client, 2u);
}

TEST(Request, IsNotKeptForAPausedJob) {
  Script script;
  script.AddClient(1, 2 * kGiB);
  script.SetPolicy(1, {.request = kGiB});
  script.Want(1);
  ASSERT_EQ(script.CardOf(1).footprint.resident, 2 * kGiB);
  script.SetPolicy(1, {.paused = true, .request = kGiB});
  EXPECT_EQ(script.CardOf(1).footprint.resident, 0u);
}

TEST(Request, FindsTheGpuThatCannotKeepIt) {
  Script script;
  script.AddClient(1, kGiB);
  script.SetPolicy(1, {.request = 10 * kGiB});
  script.AddClient(2, kGiB);
  EXPECT_EQ(script.scheduler().FindShortage(2, 6 * kGiB), std::nullopt);
  const auto shortage = script.scheduler().FindShortage(2, 7 * kGiB);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->gpu, Script::kGpu);
  EXPECT_EQ(shortage->max_request, 6 * kGiB);
  EXPECT_EQ(script.scheduler().FindShortage(99, 7 * kGiB), std::nullopt);
}

TEST(Request, LeavesRoomForTheLargestOtherJob) {
  Script script;
  script.AddClient(1, kGiB);
  script.AddClient(2, 9 * kGiB + 512 * kMiB);
  ASSERT_TRUE(script.scheduler().FindShortage(1, 7 * kGiB));
  EXPECT_EQ(script.scheduler().FindShortage(1, 7 * kGiB)->max_request, 6 * kGiB);
  EXPECT_EQ(script.scheduler().FindShortage(1, 6 * kGiB), std::nullopt);
  // One that could not run on an empty GPU either is in nobody's way, and less than now can be
  // kept.
  script.AddClient(3, 20 * kGiB);
  script.SetPolicy(1, {.request = 7 * kGiB});
  EXPECT_EQ(script.scheduler().FindShortage(1, 7 * kGiB), std::nullopt);
}

TEST(Request, ContextsOfOthersLeaveRoomForIt) {
  Script script;
  script.AddClient(1, kGiB);
  script.SetPolicy(1, {.request = 15 * kGiB + 512 * kMiB});
  script.Join(2, 2);
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.All<AdmitContext>().back().client, 2u);
  script.FinishContext(2);
  script.Join(3, 3);
  script.scheduler().ContextRequested(script.now(), 3, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.All<AdmitContext>().back().client, 2u);
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kGpuMemory);
}

TEST(Request, IsSharedByTheClientsOfTheJob) {
  Script script;
  for (const ClientId client : {1, 2}) {
    script.Join(client, 10);
    script.MakeContext(client);
    script.Allocate(client, 4 * kGiB);
  }
  script.SetPolicy(10, {.request = 6 * kGiB});
  script.Want(1);
  script.Idle(1);
  script.Idle(2);
  script.AddClient(3, 9 * kGiB);
  script.Want(3);
  EXPECT_TRUE(script.Open(3));
  Bytes kept = 0;
  for (const ClientId client : {1, 2}) {
    kept += script.CardOf(client).footprint.resident + script.CardOf(client).footprint.context;
  }
  EXPECT_GE(kept, 6 * kGiB);
  EXPECT_LE(kept, 6 * kGiB + 512 * kMiB);
}

TEST(Limit, GrowthBeyondItIsRefused) {
  Script script;
  script.AddClient(1, kGiB);
  script.SetPolicy(1, {.limit = 4 * kGiB});
  script.Want(1);
  script.Grow(1, 7, 2 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  script.Grow(1, 8, kGiB);
  EXPECT_EQ(script.AnswerTo(8), Growth::kRefused);
  script.Grow(1, 9, 512 * kMiB);
  EXPECT_EQ(script.AnswerTo(9), Growth::kGranted);
  script.SetPolicy(1, {.limit = 5 * kGiB});
  script.Grow(1, 10, kGiB);
  EXPECT_EQ(script.AnswerTo(10), Growth::kGranted);
}

TEST(Limit, BehindAClosedGateToo) {
  Script script;
  script.AddClient(1, kGiB);
  script.SetPolicy(1, {.limit = 4 * kGiB});
  script.Grow(1, 7, 3 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
  script.Grow(1, 8, 2 * kGiB);
  EXPECT_EQ(script.AnswerTo(8), Growth::kLater);
}

TEST(Limit, OfLessThanAContextIsRefused) {
  Script script;
  script.Join(1, 1);
  script.SetPolicy(1, {.limit = 100 * kMiB});
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.All<RefuseContext>().size(), 1u);
  EXPECT_TRUE(script.All<AdmitContext>().empty());
}

// It waits for evictions when the limit becomes less than what was approved.
TEST(Limit, LessThanAnApprovedContextRefusesIt) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, 7 * kGiB);
  script.Want(1);
  script.Want(2);
  ASSERT_TRUE(script.Open(1) && script.Open(2));
  script.Join(3, 3);
  script.hold_evictions = true;
  script.scheduler().ContextRequested(script.now(), 3, Script::kGpu);
  script.DeliverDecisions();
  ASSERT_TRUE(script.IsEvicting(1) || script.IsEvicting(2));
  script.SetPolicy(3, {.limit = 100 * kMiB});
  ASSERT_EQ(script.All<RefuseContext>().size(), 1u);
  EXPECT_EQ(script.All<RefuseContext>()[0].client, 3u);
}

// It waits for evictions when a slow context proves larger than all before: what is expected of the
// next one rises with it.
TEST(Limit, HoldsForAnApprovedContextOfWhichMoreIsExpected) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, 6 * kGiB + 512 * kMiB);
  script.Want(1);
  script.Want(2);
  ASSERT_TRUE(script.Open(1) && script.Open(2));
  script.Join(4, 4);
  script.scheduler().ContextRequested(script.now(), 4, Script::kGpu);
  script.DeliverDecisions();
  ASSERT_EQ(script.All<AdmitContext>().back().client, 4u);
  script.Join(3, 3);
  script.SetPolicy(3, {.limit = 700 * kMiB});
  script.hold_evictions = true;
  script.scheduler().ContextRequested(script.now(), 3, Script::kGpu);
  script.DeliverDecisions();
  script.Wait(Script::DefaultConfig().context_timeout);
  ASSERT_TRUE(script.IsEvicting(1) || script.IsEvicting(2)) << "approved, and waits for room";
  script.FinishContext(4, 800 * kMiB);
  ASSERT_EQ(script.All<RefuseContext>().size(), 1u);
  EXPECT_EQ(script.All<RefuseContext>()[0].client, 3u);
}

TEST(Limit, AllContextsBeyondItAreRefusedAtOnce) {
  Script script;
  script.Join(1, 1);
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);  // the others wait for it
  for (ClientId client = 2; client < 20; ++client) {
    script.Join(client, client);
    script.SetPolicy(client, {.limit = kMiB});
    script.scheduler().ContextRequested(script.now(), client, Script::kGpu);
  }
  script.scheduler().ContextCreated(script.now(), 1, Script::kGpu, 512 * kMiB);
  EXPECT_LE(script.scheduler().Passes(), 2);
  script.DeliverDecisions();
  EXPECT_EQ(script.All<RefuseContext>().size(), 18u);
}

// Adds clients 1 and 2, each a job of one account that may have 6 GiB, and client 3 of another.
void AddAccounts(Script& script) {
  for (const ClientId client : {1, 2, 3}) {
    script.AddClient(client, kGiB);
    script.SetAccount(client, client == 3 ? 8 : 7, {.limit = 6 * kGiB});
    script.Want(client);
  }
}

TEST(Quota, LimitsTheMemoryOfAllJobsOfAnAccount) {
  Script script;
  AddAccounts(script);
  script.Grow(1, 1, 3 * kGiB);
  EXPECT_EQ(script.AnswerTo(1), Growth::kGranted);
  script.Grow(2, 2, kGiB);
  EXPECT_EQ(script.AnswerTo(2), Growth::kRefused) << "contexts count too";
  script.Grow(3, 3, 4 * kGiB);
  EXPECT_EQ(script.AnswerTo(3), Growth::kGranted) << "another account";
  script.Leave(1);
  script.Grow(2, 4, kGiB);
  EXPECT_EQ(script.AnswerTo(4), Growth::kGranted);
}

TEST(Quota, CountsWhatIsApprovedForOtherJobs) {
  Script script;
  script.AddClient(4, 9 * kGiB);
  script.Want(4);
  AddAccounts(script);
  ASSERT_TRUE(script.Open(1) && script.Open(2) && script.Open(4));
  script.Idle(4);
  script.hold_evictions = true;
  script.Grow(1, 1, 3 * kGiB);
  ASSERT_FALSE(script.Answered(1)) << "approved, but the memory of the idle job must leave first";
  script.Grow(2, 2, kGiB);
  EXPECT_EQ(script.AnswerTo(2), Growth::kRefused);
  script.FinishHeldEviction(4);
  EXPECT_EQ(script.AnswerTo(1), Growth::kGranted);
}

TEST(Quota, LimitsContexts) {
  Script script;
  AddAccounts(script);
  script.Grow(1, 1, 3 * kGiB);
  script.Join(4, 4);
  script.SetAccount(4, 7, {.limit = 6 * kGiB});
  script.scheduler().ContextRequested(script.now(), 4, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.All<RefuseContext>().size(), 1u);
}

TEST(Quota, LimitsWhatCanBePromised) {
  Script script;
  AddAccounts(script);
  script.SetPolicy(1, {.request = 4 * kGiB});
  const auto shortage = script.scheduler().FindShortage(2, 3 * kGiB);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->max_request, 2 * kGiB);
  EXPECT_EQ(script.scheduler().FindShortage(2, 2 * kGiB), std::nullopt);
  EXPECT_EQ(script.scheduler().FindShortage(3, 3 * kGiB), std::nullopt);
}

}  // namespace policy_test
}  // namespace reveza::scheduler
