#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace turns_test {

constexpr Bytes kBig = 12 * kGiB;

TEST(Turns, FittingJobsRunTogetherWithoutMoves) {
  Script script;
  for (ClientId client : {1, 2, 3}) {
    script.AddClient(client, 4 * kGiB);
    script.Want(client);
  }
  for (ClientId client : {1, 2, 3}) EXPECT_TRUE(script.Open(client)) << client;
  script.Wait(seconds(1000));
  for (ClientId client : {1, 2, 3}) EXPECT_TRUE(script.Open(client)) << client;
  EXPECT_TRUE(script.All<Evict>().empty());
  EXPECT_TRUE(script.All<CloseGate>().empty());
  EXPECT_EQ(script.ticks, 0u);
}

TEST(Turns, NonFittingJobsTakeTurns) {
  Script script;
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  EXPECT_TRUE(script.Open(1));
  EXPECT_FALSE(script.Open(2));
  EXPECT_EQ(script.JobOf(2).state, JobState::kWaiting);
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kTurn);
  EXPECT_EQ(script.JobOf(2).blocked_by, 1u);
  script.Wait(seconds(31));
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
  script.Want(1);
  script.Wait(seconds(31));
  EXPECT_TRUE(script.Open(1));
  EXPECT_FALSE(script.Open(2));
}

TEST(Turns, SliceIsAtLeastFloor) {
  Config config = Script::DefaultConfig();
  config.link_estimate = 1e15;  // free handovers
  Script script(config);
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.Wait(config.slice_floor - milliseconds(1));
  EXPECT_TRUE(script.Open(1));
  script.Wait(milliseconds(2));
  EXPECT_TRUE(script.Open(2));
}

TEST(Turns, LongestWaitingJobIsNext) {
  Script script;
  for (ClientId client : {1, 2, 3}) script.AddClient(client, kBig);
  script.Want(1);
  script.Want(3);
  script.Wait(milliseconds(1));
  script.Want(2);
  script.Wait(milliseconds(1));
  script.Idle(1);
  EXPECT_TRUE(script.Open(3));
  EXPECT_FALSE(script.Open(2));
  script.Want(1);
  script.Idle(3);
  EXPECT_TRUE(script.Open(2));
}

TEST(Turns, IdleJobYieldsOnlyUnderContention) {
  Script script;
  script.AddClient(1, kBig);
  script.Want(1);
  script.Idle(1);
  EXPECT_TRUE(script.Open(1));
  script.AddClient(2, kBig);
  script.Want(2);
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
}

// The job reported idle, failed to drain, and requested memory before the retry.
TEST(Turns, GrowthRequestClearsIdle) {
  for (const bool asks : {false, true}) {
    Script script;
    script.AddClient(1, kBig);
    script.AddClient(2, kBig);
    script.Want(1);
    script.Want(2);
    script.hold_gates = true;
    script.Idle(1);
    ASSERT_TRUE(script.IsClosing(1));
    script.FailHeldGate(1);
    if (asks) script.Grow(1, 7, kGiB);
    script.Wait(Script::DefaultConfig().drain_retry);
    EXPECT_EQ(script.IsClosing(1), !asks);
  }
}

TEST(Turns, ResidentFittingJobOpensImmediately) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, 4 * kGiB);
  script.Want(1);
  script.AddClient(3, kBig);
  script.Want(3);
  script.Wait(seconds(31));
  ASSERT_TRUE(script.Open(3));  // job 1 was closed for it
  script.Leave(3);
  script.Want(1);
  EXPECT_TRUE(script.Open(1));
  script.Want(2);
  EXPECT_TRUE(script.Open(2));
}

TEST(Turns, ClosesOnlyNecessaryJobs) {
  Script script;
  script.AddClient(1, 7 * kGiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.AddClient(2, 2 * kGiB);
  script.Want(2);
  script.Wait(seconds(100));
  script.AddClient(3, 9 * kGiB);
  script.Want(3);
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

// The longest running job is chosen first, but is spared once a larger victim suffices.
TEST(Turns, SparesVictimMadeUnnecessary) {
  Script script;
  script.AddClient(1, 2 * kGiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.AddClient(2, 7 * kGiB);
  script.Want(2);
  script.Wait(seconds(100));
  script.AddClient(3, 9 * kGiB);
  script.Want(3);
  EXPECT_TRUE(script.Open(1));
  EXPECT_FALSE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

TEST(Turns, BackfillsOnlyWithoutDelayingOlderJob) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, kBig);
  script.AddClient(3, 4 * kGiB);
  script.Want(1);
  script.Want(2);
  script.Want(3);  // fits beside 1, not beside 2
  EXPECT_TRUE(script.Open(3));
  EXPECT_FALSE(script.Open(2));
  const Time end = script.JobOf(1).slice_ends;
  script.Wait(end - script.now());
  EXPECT_TRUE(script.Open(2));
  EXPECT_FALSE(script.Open(3));
}

TEST(Turns, BackfilledJobClosesWithOthers) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, kBig);
  script.AddClient(3, 4 * kGiB);
  script.Want(1);
  script.Want(2);
  const Time end = script.JobOf(1).slice_ends;
  script.Wait(end / 2);
  script.Want(3);
  EXPECT_TRUE(script.Open(3));
  script.Wait(end - script.now());
  EXPECT_TRUE(script.Open(2));  // although 3 had only half a slice
  EXPECT_FALSE(script.Open(3));
}

TEST(Turns, DoesNotBackfillShortlyBeforeTurnEnds) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, kBig);
  script.AddClient(3, 4 * kGiB);
  script.Want(1);
  script.Want(2);
  const Time end = script.JobOf(1).slice_ends;
  script.Wait(end - script.now() - milliseconds(10));
  script.Want(3);
  EXPECT_FALSE(script.Open(3));
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kTurn);
  script.Wait(milliseconds(10));
  EXPECT_TRUE(script.Open(2));
}

TEST(Turns, NonConflictingJobBackfillsForFullSlice) {
  Script script;
  script.AddClient(1, 10 * kGiB);
  script.AddClient(2, 8 * kGiB);
  script.AddClient(3, 2 * kGiB);
  script.Want(1);
  script.Want(2);
  script.Want(3);
  EXPECT_TRUE(script.Open(3));
  script.Wait(seconds(31));
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

// The second of three waiting jobs fits beside the first, but only by evicting the third.
class TurnsBesideGrowingJob : public ::testing::Test {
 protected:
  TurnsBesideGrowingJob() {
    script_.AddClient(1, kBig);
    script_.AddClient(2, 4 * kGiB);
    script_.AddClient(3, 4 * kGiB);
    for (ClientId client : {1, 2, 3}) script_.Want(client);
    script_.hold_gates = true;
    script_.Wait(script_.JobOf(1).slice_ends + seconds(1));  // a handover takes a second
    script_.CloseHeldGate(1);
    script_.hold_gates = false;
    for (int i = 0; i < 20; ++i) {  // the shortest turn of which swapping 4 GiB at 20 GB/s is 5 %
      useful_ += milliseconds(215);
    }
  }

  Script script_;
  Time useful_{0};
};

TEST_F(TurnsBesideGrowingJob, MovesMemoryOnlyAfterGrowthStops) {
  ASSERT_TRUE(script_.Open(2));
  EXPECT_FALSE(script_.Open(3));
  EXPECT_EQ(script_.JobOf(3).why, WaitReason::kTurn);
  EXPECT_EQ(script_.JobOf(3).blocked_by, 2u);
  script_.Wait(useful_ - milliseconds(50));
  EXPECT_FALSE(script_.Open(3));
  script_.Wait(milliseconds(50));
  EXPECT_TRUE(script_.Open(2) && script_.Open(3));
}

TEST_F(TurnsBesideGrowingJob, ContinuedGrowthEvictsNothing) {
  script_.Wait(seconds(1));
  script_.Grow(2, 7, 7 * kGiB);
  script_.Wait(useful_);
  EXPECT_FALSE(script_.Open(3));
  EXPECT_EQ(script_.All<CloseGate>().size(), 1u);
  EXPECT_EQ(script_.CardOf(3).footprint.resident, 0u);
}

TEST_F(TurnsBesideGrowingJob, HoldBackIsBounded) {
  for (std::uint32_t request = 1; request <= 5; ++request) {
    EXPECT_FALSE(script_.Open(3));
    script_.Grow(2, request, 64 * kMiB);
    script_.Wait(seconds(1));
  }
  EXPECT_TRUE(script_.Open(3));
}

TEST(Turns, GpusHaveIndependentTurns) {
  Script script;
  script.SetBudget(1, 16 * kGiB);
  script.AddClient(1, kBig, 0);
  script.AddClient(2, kBig, 1);
  script.AddClient(3, kBig, 0);
  for (ClientId client : {1, 2, 3}) script.Want(client);
  script.Wait(seconds(31));
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

TEST(Turns, WaitsForGpuMemoryBehindFixedMemory) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.AddClient(2, 15 * kGiB + 256 * kMiB);
  script.Want(2);
  EXPECT_FALSE(script.Open(2));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
  EXPECT_EQ(script.JobOf(2).blocked_by, 1u);
  script.Leave(1);
  EXPECT_TRUE(script.Open(2));
}

// Job 4 would fit beside job 1 without moving anything, if its growth were not there first, and a
// failed eviction keeps others from making room.
TEST(Turns, QueuedJobClosesNobody) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(1);  // one job rotates
  config.evict_retry = seconds(1000);
  Script script(config);
  script.AddClient(1, 4 * kGiB, Script::kGpu, kMiB);
  script.AddClient(2, 6 * kGiB, Script::kGpu, kMiB);
  script.AddClient(3, 2 * kGiB, Script::kGpu, kMiB);
  for (const ClientId client : {1, 2, 3}) script.Want(client);
  script.Idle(3);
  script.hold_evictions = true;
  script.SetPolicy(2, {.paused = true});
  script.FinishHeldEviction(2, EvictFailure::kDriver);
  script.SetPolicy(2, {});
  script.Wait(seconds(60));
  script.Grow(1, 7, 5 * kGiB + 512 * kMiB);
  ASSERT_TRUE(script.IsEvicting(3));
  script.hold_gates = true;
  script.AddClient(5, 12 * kGiB, Script::kGpu, kMiB);
  script.Want(5);
  script.AddClient(4, 2 * kGiB, Script::kGpu, kMiB);
  script.Want(4);
  EXPECT_EQ(script.JobOf(4).why, WaitReason::kQueue);
  EXPECT_FALSE(script.IsClosing(1));
}

// It is no decision that a job for which another leaves has lost its turn.
TEST(Turns, LossOfATurnMakesAnotherPassFollow) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.Want(2);
  script.hold_gates = true;
  for (int i = 0; i < 60 && !script.IsClosing(1); ++i) script.Wait(seconds(1));
  ASSERT_TRUE(script.IsClosing(1));
  script.scheduler().SetExternal(script.now(), Script::kGpu, 10 * kGiB);
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
  EXPECT_EQ(script.scheduler().Passes(), 2);
}

}  // namespace turns_test
}  // namespace reveza::scheduler
