// Tests of growth that waits for GPU or host memory of others, and of what ends the wait.
#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace growth_waiting_test {

TEST(Growth, DeadlockRefusesYoungestJob) {
  Script script;
  for (ClientId client : {1, 2}) {
    script.AddClient(client, kGiB);
    script.Want(client);
    script.Grow(client, static_cast<std::uint32_t>(client), 5 * kGiB, GrowthKind::kPinned);
  }
  script.Grow(1, 11, 6 * kGiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(11));
  script.Grow(2, 12, 6 * kGiB, GrowthKind::kPinned);
  EXPECT_EQ(script.AnswerTo(12), Growth::kRefused);
  EXPECT_FALSE(script.Answered(11));
  script.Leave(2);
  EXPECT_EQ(script.AnswerTo(11), Growth::kGranted);
}

TEST(Growth, NothingIsRefusedDuringEvictions) {
  Script script;
  script.SetBudget(1, 16 * kGiB);
  for (ClientId client : {4, 5}) {
    script.AddClient(client, 12 * kGiB, 1);
    script.Want(client);
  }
  script.hold_evictions = true;
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsEvicting(4));
  for (ClientId client : {1, 2}) {
    script.AddClient(client, kGiB);
    script.Want(client);
    script.Grow(client, static_cast<std::uint32_t>(client), 5 * kGiB, GrowthKind::kPinned);
  }
  script.Grow(1, 11, 6 * kGiB, GrowthKind::kPinned);
  script.Grow(2, 12, 6 * kGiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(12));
  script.FinishHeldEviction(4);
  EXPECT_EQ(script.AnswerTo(12), Growth::kRefused);
}

// Else a slice that is shorter than the eviction would end before it, and so would the next.
TEST(Growth, EntryMakesRoomForPinnedGrowthBeforeTheGateOpens) {
  Script script;
  script.AddClient(1, 10 * kGiB);
  script.Want(1);
  script.AddClient(2, 6 * kGiB);
  script.Want(2);
  script.Grow(2, 7, 2 * kGiB, GrowthKind::kPinned);
  script.hold_evictions = true;
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsEvicting(1));
  EXPECT_FALSE(script.Answered(7));
  script.FinishHeldEviction(1);
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Answered(7));
  EXPECT_FALSE(script.IsEvicting(1));
}

TEST(Growth, EntryForPinnedGrowthIsAbandonedIfTheEvictionFails) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  script.AddClient(2, 2 * kGiB);
  script.Want(2);
  script.Grow(2, 7, 4 * kGiB, GrowthKind::kPinned);
  ASSERT_FALSE(script.Open(2)) << "the first has priority";
  script.hold_evictions = true;
  script.Wait(seconds(31));
  script.Want(1);
  ASSERT_EQ(script.JobOf(2).state, JobState::kEntering);
  script.hold_evictions = false;
  script.FinishHeldEviction(1, EvictFailure::kDriver);
  EXPECT_EQ(script.JobOf(2).state, JobState::kWaiting);
  EXPECT_TRUE(script.Open(1));
  script.Wait(seconds(61));
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

// The first growth waits for an eviction that the second must not count on.
TEST(Growth, ApprovedMemoryIsNotApprovedTwice) {
  Script script;
  for (ClientId client : {1, 2, 3}) script.AddClient(client, 4 * kGiB);
  for (ClientId client : {1, 2}) script.Want(client);
  script.hold_evictions = true;
  script.AddClient(4, 6 * kGiB);
  script.Want(3);
  ASSERT_TRUE(script.Open(1) && script.Open(2) && script.Open(3));
  script.Grow(1, 7, 8 * kGiB, GrowthKind::kPinned);
  script.Grow(2, 8, 8 * kGiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(8));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
}

// Each growth fits on the GPU and the host, but not both together.
TEST(Growth, ApprovedHostMemoryIsNotApprovedTwice) {
  Config config = Script::DefaultConfig();
  config.host_budget = kGiB;
  Script script(config);
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  for (ClientId client : {2, 3}) {
    script.AddClient(client, 0);
    script.Want(client);
    script.Grow(client, static_cast<std::uint32_t>(client), 9 * kGiB);
    ASSERT_FALSE(script.Answered(static_cast<std::uint32_t>(client)));
  }
  script.Leave(1);
  EXPECT_EQ(script.AnswerTo(2), Growth::kGranted);
  EXPECT_FALSE(script.Answered(3));
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kHostMemory);
  script.Leave(2);
  EXPECT_EQ(script.AnswerTo(3), Growth::kGranted);
}

// Two threads of a suspended job wait for pinned memory beside another job's. Granting both would
// keep the job suspended for ever.
TEST(Growth, SecondPinnedGrowthOfAJobWaitsIfBothDoNotFit) {
  Script script;
  for (ClientId client : {1, 2}) {
    script.Join(client, 1);
    script.MakeContext(client);
  }
  script.AddClient(3, 0);
  script.Want(3);
  script.Grow(3, 30, 8 * kGiB, GrowthKind::kPinned);
  script.SetExternal(6 * kGiB);
  for (ClientId client : {1, 2}) {
    script.Grow(client, static_cast<std::uint32_t>(client), 4 * kGiB, GrowthKind::kPinned);
  }
  script.SetExternal(0);
  EXPECT_EQ(script.AnswerTo(1), Growth::kGranted);
  EXPECT_FALSE(script.Answered(2));
  script.Leave(3);
  EXPECT_EQ(script.AnswerTo(2), Growth::kGranted);
}

// An exiting process counts as external until the driver has freed its memory. Growth waits for it.
TEST(Growth, WaitsForExitingExternalProcess) {
  Script script;
  script.AddClient(1, 6 * kGiB);
  script.Want(1);
  script.SetExternal(8 * kGiB);
  script.Grow(1, 7, 4 * kGiB);
  EXPECT_FALSE(script.Answered(7));
  EXPECT_EQ(script.JobOf(1).why, WaitReason::kGpuMemory);
  script.Wait(seconds(20));
  EXPECT_FALSE(script.Answered(7));
  script.SetExternal(0);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

TEST(Growth, IsRefusedForLongLivedExternalProcess) {
  Script script;
  script.AddClient(1, 6 * kGiB);
  script.Want(1);
  script.AddClient(2, 0);
  script.Want(2);  // keeps running; its exit would not help
  script.SetExternal(8 * kGiB);
  script.Grow(1, 7, 4 * kGiB);
  script.Wait(seconds(31));
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
  script.Grow(1, 8, 4 * kGiB);
  EXPECT_EQ(script.AnswerTo(8), Growth::kRefused);
}

// The only job that waits is queued, and parked: no pass looks at it.
TEST(Growth, OverdueClosesItsJobForAQueuedOne) {
  Config config = Script::DefaultConfig();
  config.host_budget = 1024 * kGiB;
  config.max_wait = seconds(1);
  config.slice_ceiling = config.slice_floor;
  Script script(config);
  for (const ClientId client : {1, 2}) {
    script.Join(client, 1);
    script.MakeContext(client);
    script.Allocate(client, 4 * kGiB);
    script.Want(client);
  }
  ASSERT_TRUE(script.Open(1) && script.Open(2));
  script.AddClient(3, 12 * kGiB);  // its context leaves no room for the growth
  script.Grow(1, 7, 7 * kGiB);
  script.Wait(milliseconds(900));
  script.Want(3);
  ASSERT_EQ(script.JobOf(3).state, JobState::kQueued);
  script.hold_gates = true;
  script.Wait(milliseconds(99));
  EXPECT_FALSE(script.IsClosing(1));
  script.Wait(milliseconds(2));
  EXPECT_TRUE(script.IsClosing(1));
}

// They would otherwise be refused for each other's pinned memory; here the external process is part
// of the cause.
TEST(Growth, DeadlockIsNotBrokenWhileExternalProcessMayExit) {
  Script script;
  for (ClientId client : {1, 2}) {
    script.AddClient(client, 0);
    script.Want(client);
    script.Grow(client, static_cast<std::uint32_t>(client), 3 * kGiB, GrowthKind::kPinned);
    ASSERT_EQ(script.AnswerTo(static_cast<std::uint32_t>(client)), Growth::kGranted);
  }
  script.SetExternal(6 * kGiB);
  for (ClientId client : {1, 2})
    script.Grow(client, static_cast<std::uint32_t>(10 + client), 4 * kGiB);
  EXPECT_FALSE(script.Answered(11));
  EXPECT_FALSE(script.Answered(12));
  script.SetExternal(0);
  EXPECT_EQ(script.AnswerTo(11), Growth::kGranted);
  EXPECT_EQ(script.AnswerTo(12), Growth::kGranted);
}

// A job was closed for a growth, but its eviction fails.
class GrowthAfterFailedEviction : public ::testing::Test {
 protected:
  GrowthAfterFailedEviction() {
    for (ClientId client : {1, 2}) {
      script_.AddClient(client, 6 * kGiB);
      script_.Want(client);
    }
    script_.hold_evictions = true;
    script_.Grow(1, 7, 4 * kGiB);
    script_.FinishHeldEviction(2, EvictFailure::kHostMemory);
  }

  Script script_;
};

TEST_F(GrowthAfterFailedEviction, WaitsForHostMemoryAndOtherJobReturns) {
  EXPECT_FALSE(script_.Answered(7));
  EXPECT_EQ(script_.JobOf(1).why, WaitReason::kHostMemory);
  script_.Want(2);
  EXPECT_TRUE(script_.Open(2));
}

TEST_F(GrowthAfterFailedEviction, ClosesNothingInVain) {
  script_.Want(2);
  const std::size_t closed = script_.All<CloseGate>().size();
  script_.Wait(Script::DefaultConfig().evict_retry - milliseconds(1));
  EXPECT_EQ(script_.All<CloseGate>().size(), closed);
  EXPECT_TRUE(script_.Open(1) && script_.Open(2));
}

TEST_F(GrowthAfterFailedEviction, IsRetriedAfterEvictRetry) {
  script_.Want(2);
  script_.Wait(Script::DefaultConfig().evict_retry);
  ASSERT_TRUE(script_.IsEvicting(2));
  script_.FinishHeldEviction(2);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
}

// 1's pinned memory blocks 2: both are stuck, but only until the eviction is retried.
TEST(Growth, NothingIsRefusedBeforeEvictionRetry) {
  Config config = Script::DefaultConfig();
  config.growth_settle_time = Time(0);
  Script script(config);
  script.AddClient(1, 2 * kGiB);
  script.AddClient(2, 10 * kGiB);
  for (ClientId client : {1, 2}) script.Want(client);
  script.Grow(1, 6, 6 * kGiB, GrowthKind::kPinned);
  script.Want(2);
  ASSERT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
  script.hold_evictions = true;
  script.Grow(1, 7, 2 * kGiB);
  ASSERT_TRUE(script.IsEvicting(2));
  script.FinishHeldEviction(2, EvictFailure::kDriver);
  EXPECT_FALSE(script.Answered(7));
  EXPECT_EQ(script.JobOf(1).why, WaitReason::kHostMemory);
  script.Wait(config.evict_retry);
  ASSERT_TRUE(script.IsEvicting(2));
  script.FinishHeldEviction(2);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

// Host memory suffices for one eviction, but not for the two jobs to take turns.
TEST(Contexts, WaitIfHostMemoryAllowsNoRotation) {
  Config config = Script::DefaultConfig();
  config.host_budget = 256 * kMiB;
  Script script(config);
  script.AddClient(1, 9 * kGiB);
  script.AddClient(2, 5 * kGiB + 768 * kMiB);
  for (ClientId client : {1, 2}) script.Want(client);
  script.Join(3, 3);
  script.scheduler().ContextRequested(script.now(), 3, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kHostMemory);
  EXPECT_TRUE(script.Open(1) && script.Open(2));
}

TEST(Contexts, WaitForHostMemoryIfEvictionsDoNotSuffice) {
  Script script;
  for (ClientId client : {1, 2}) {
    script.AddClient(client, 7 * kGiB + 512 * kMiB);
    script.Want(client);
  }
  script.hold_evictions = true;
  script.Join(3, 3);
  script.scheduler().ContextRequested(script.now(), 3, Script::kGpu);
  script.DeliverDecisions();
  for (ClientId client : {2, 1}) {
    ASSERT_TRUE(script.IsEvicting(client));
    script.FinishHeldEviction(client, EvictFailure::kDriver);
  }
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kHostMemory);
  for (ClientId client : {1, 2}) {
    script.Want(client);
    EXPECT_TRUE(script.Open(client));
  }
  script.Wait(Script::DefaultConfig().evict_retry);
  ASSERT_TRUE(script.IsEvicting(2));
  script.FinishHeldEviction(2);
  EXPECT_EQ(script.All<AdmitContext>().back().client, 3u);
}

}  // namespace growth_waiting_test
}  // namespace reveza::scheduler
