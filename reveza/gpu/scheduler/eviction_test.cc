#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace eviction_test {

constexpr Bytes kBig = 12 * kGiB;

TEST(Eviction, CreditIsGrantedPerEvictedPiece) {
  Script script;
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.hold_evictions = true;
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsEvicting(1));
  // Free memory is granted before the first piece is evicted.
  EXPECT_EQ(script.CardOf(2).footprint.resident, 3 * kGiB);
  script.EvictHeldPiece(1, kGiB);
  EXPECT_EQ(script.CardOf(2).footprint.resident, 4 * kGiB);
  EXPECT_LE(script.GpuOf().outstanding_credit, 16 * kGiB);
  EXPECT_FALSE(script.Open(2));
  script.FinishHeldEviction(1);
  EXPECT_EQ(script.CardOf(2).footprint.resident, kBig);
  EXPECT_TRUE(script.Open(2));
}

TEST(Eviction, EvictsOnlyTheDeficit) {
  Script script;
  script.AddClient(1, kBig);
  script.AddClient(2, 6 * kGiB);
  script.Want(1);
  script.Want(2);
  script.Wait(seconds(31));
  ASSERT_TRUE(script.Open(2));
  // 16 GiB less two contexts and the 6 GiB of job 2.
  EXPECT_EQ(script.CardOf(1).footprint.resident, 9 * kGiB);
}

TEST(Eviction, EvictsJobThatRunsLastFirst) {
  Script script;
  for (ClientId client : {1, 2, 3}) script.AddClient(client, 4 * kGiB);
  script.Want(1);
  script.Want(2);
  script.Want(3);
  script.AddClient(4, 10 * kGiB);
  script.Want(4);
  script.Idle(3);
  script.Idle(2);
  script.Want(3);
  script.Wait(milliseconds(1));
  script.Want(2);
  // 3 has waited longer and is next, so it stays.
  EXPECT_GE(script.CardOf(3).footprint.resident, script.CardOf(2).footprint.resident);
  EXPECT_LT(script.CardOf(2).footprint.resident, 4 * kGiB);
}

TEST(Eviction, ResidentOnlyClientIsNeverEvicted) {
  Script script;
  script.Join(1, 1, /*resident_only=*/true);
  script.MakeContext(1);
  script.Want(1);
  script.Grow(1, 7, 8 * kGiB, GrowthKind::kPinned);
  script.AddClient(2, 10 * kGiB);
  script.Want(2);
  script.Wait(seconds(100));
  EXPECT_TRUE(script.All<Evict>().empty());
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
  script.Leave(1);
  EXPECT_TRUE(script.Open(2));
}

TEST(Eviction, ClosesNothingWithoutHostMemory) {
  Config config = Script::DefaultConfig();
  config.host_budget = 4 * kGiB;
  Script script(config);
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.Wait(seconds(100));
  EXPECT_TRUE(script.Open(1));
  EXPECT_TRUE(script.All<CloseGate>().empty());
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kHostMemory);
  script.Leave(1);
  EXPECT_TRUE(script.Open(2));
}

TEST(Eviction, HostMemoryIsReservedUntilClientLeaves) {
  Config config = Script::DefaultConfig();
  config.host_budget = 20 * kGiB;
  Script script(config);
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.Wait(seconds(31));
  ASSERT_TRUE(script.Open(2));
  EXPECT_EQ(script.scheduler().HostReserved(), 18 * kGiB);  // what either may have to evict
  script.Leave(2);
  EXPECT_EQ(script.scheduler().HostReserved(), 9 * kGiB);
}

TEST(Eviction, OldestStaysWithHostMemoryForOne) {
  Config config = Script::DefaultConfig();
  config.host_budget = 10 * kGiB;
  Script script(config);
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.Wait(seconds(100));
  EXPECT_TRUE(script.Open(1));  // once evicted it could not return before the other leaves
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kHostMemory);
  script.Leave(1);
  EXPECT_TRUE(script.Open(2));
}

TEST(Eviction, IgnoresAnswersWithUnknownSerial) {
  Script script;
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.hold_evictions = true;
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsEvicting(1));
  const Evict evict = script.All<Evict>().back();
  const std::size_t decisions = script.log.size();
  script.scheduler().Evicted(script.now(), 1, evict.serial + 1000, evict.gpu, EvictFailure::kNone);
  script.scheduler().SwappedIn(script.now(), 2, script.All<SwapIn>().back().serial + 1000);
  script.DeliverDecisions();
  EXPECT_EQ(script.log.size(), decisions);
  EXPECT_EQ(script.JobOf(2).state, JobState::kEntering);
  script.FinishHeldEviction(1);
  EXPECT_TRUE(script.Open(2));
}

TEST(Eviction, FailedEvictionReadmitsOldJobAndIsRetried) {
  Script script;
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.hold_evictions = true;
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsEvicting(1));
  script.Want(1);
  script.hold_evictions = false;
  script.FinishHeldEviction(1, EvictFailure::kHostMemory);
  EXPECT_TRUE(script.Open(1));
  EXPECT_FALSE(script.Open(2));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kHostMemory);
  EXPECT_LE(script.GpuOf().outstanding_credit, 16 * kGiB);
  script.Wait(seconds(60));
  EXPECT_TRUE(script.Open(2));
}

TEST(Eviction, BudgetCutClosesAndEvicts) {
  Script script;
  script.AddClient(1, 6 * kGiB);
  script.AddClient(2, 6 * kGiB);
  script.Want(1);
  script.Want(2);
  script.SetExternal(6 * kGiB);
  EXPECT_LE(script.GpuOf().outstanding_credit, 10 * kGiB);
  EXPECT_NE(script.Open(1), script.Open(2));
  script.SetExternal(0);
  script.Want(1);
  script.Want(2);
  EXPECT_TRUE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
}

TEST(Eviction, AllJobsWaitWhileBudgetFitsNone) {
  Script script;
  script.AddClient(1, kBig);
  script.Want(1);
  script.SetBudget(Script::kGpu, 8 * kGiB);
  EXPECT_FALSE(script.Open(1));
  EXPECT_LE(script.GpuOf().outstanding_credit, 8 * kGiB);
  script.Want(1);
  EXPECT_EQ(script.JobOf(1).why, WaitReason::kGpuMemory);
  script.SetBudget(Script::kGpu, 16 * kGiB);
  EXPECT_TRUE(script.Open(1));
}

TEST(Eviction, DeathDuringEvictionFreesMemoryImmediately) {
  Script script;
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.hold_evictions = true;
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsEvicting(1));
  script.Leave(1);
  EXPECT_TRUE(script.Open(2));
  EXPECT_EQ(script.GpuOf().outstanding_credit, kBig + 512 * kMiB);
}

TEST(Eviction, DeathDuringSwapInLetsOthersEnter) {
  Script script;
  script.AddClient(1, kBig);
  script.AddClient(2, kBig);
  script.Want(1);
  script.Want(2);
  script.hold_evictions = true;
  script.Wait(seconds(31));
  script.EvictHeldPiece(1, kGiB);
  script.Want(1);
  script.Leave(2);
  script.hold_evictions = false;
  script.FinishHeldEviction(1);
  EXPECT_TRUE(script.Open(1));
  EXPECT_EQ(script.CardOf(1).footprint.resident, kBig);
}

// A GPU that stays over budget does not affect jobs on another.
TEST(Eviction, GpuOverBudgetDoesNotDelayOtherGpus) {
  Script script;
  script.SetBudget(1, 16 * kGiB);
  script.AddClient(1, 0);
  script.SetExternal(16 * kGiB);
  for (ClientId client : {2, 3}) {
    script.AddClient(client, 12 * kGiB, 1);
    script.Want(client);
  }
  script.Wait(seconds(31));
  EXPECT_TRUE(script.Open(3));
}

// Job 2 enters by evicting job 1, which does not answer.
void EvictUnanswered(Script& script) {
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.hold_evictions = true;
  script.Want(2);
  script.Idle(1);
  ASSERT_TRUE(script.IsEvicting(1));
  ASSERT_EQ(script.JobOf(2).state, JobState::kEntering);
}

TEST(Eviction, UnansweredEvictionTimesOut) {
  Script script;
  EvictUnanswered(script);
  script.Wait(Script::DefaultConfig().evict_timeout);
  EXPECT_TRUE(script.ClientOf(1).unresponsive);
  EXPECT_EQ(script.JobOf(2).state, JobState::kWaiting);
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
  EXPECT_EQ(script.JobOf(2).blocked_by, 1u);
  EXPECT_EQ(script.All<Evict>().size(), 1u) << "it is not asked again";
  EXPECT_FALSE(script.Open(1));
}

// Job 2 enters by evicting job 1, and hangs with all credit.
void SwapInUnanswered(Script& script) {
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.hold_swap_ins = true;
  script.Want(2);
  script.Idle(1);
  script.Want(1);
  ASSERT_EQ(script.JobOf(2).state, JobState::kEntering);
  ASSERT_EQ(script.ClientOf(2).gpus[0].credit, 12 * kGiB + 512 * kMiB);
}

TEST(SwapIn, UnansweredSwapInTimesOut) {
  Script script;
  SwapInUnanswered(script);
  script.Wait(Script::DefaultConfig().evict_timeout);
  EXPECT_EQ(script.JobOf(2).state, JobState::kEntering) << "copies take time";
  script.Wait(seconds(20));
  EXPECT_TRUE(script.ClientOf(2).unresponsive);
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kUnresponsive);
  EXPECT_EQ(script.JobOf(1).why, WaitReason::kGpuMemory) << "its memory is fixed";
  // Others that fit beside it run.
  script.hold_swap_ins = false;
  script.AddClient(3, 2 * kGiB);
  script.Want(3);
  EXPECT_TRUE(script.Open(3));
  // When it is heard, the one that waits longer has its turn, then it.
  script.Leave(3);
  script.FinishHeldSwapIn(2);
  EXPECT_FALSE(script.ClientOf(2).unresponsive);
  EXPECT_TRUE(script.Open(1));
  script.Idle(1);
  EXPECT_TRUE(script.Open(2));
}

TEST(SwapIn, IsNotOverdueWhileItWaitsForCredit) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.hold_evictions = script.hold_swap_ins = true;
  script.Want(2);
  script.Idle(1);
  for (int piece = 0; piece < 10; ++piece) {
    script.Wait(Script::DefaultConfig().evict_timeout - seconds(1));
    script.EvictHeldPiece(1, 64 * kMiB);
  }
  EXPECT_EQ(script.JobOf(2).state, JobState::kEntering);
  EXPECT_FALSE(script.ClientOf(2).unresponsive);
}

TEST(Eviction, EvictionThatProgressesDoesNotTimeOut) {
  Script script;
  EvictUnanswered(script);
  for (int piece = 0; piece < 10; ++piece) {
    script.Wait(Script::DefaultConfig().evict_timeout - seconds(1));
    ASSERT_FALSE(script.ClientOf(1).unresponsive) << piece;
    script.EvictHeldPiece(1, 64 * kMiB);
  }
  EXPECT_EQ(script.JobOf(2).state, JobState::kEntering);
}

TEST(Eviction, ClientThatAnswersLateIsEvictedAgain) {
  Script script;
  EvictUnanswered(script);
  script.Wait(Script::DefaultConfig().evict_timeout);
  script.hold_evictions = false;
  script.FinishHeldEviction(1);
  EXPECT_FALSE(script.ClientOf(1).unresponsive);
  EXPECT_TRUE(script.Open(2));
}

}  // namespace eviction_test
}  // namespace reveza::scheduler
