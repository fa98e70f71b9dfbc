#include "scheduler/turns.h"

#include <gtest/gtest.h>

#include "scheduler/script.h"

namespace reveza::scheduler {
namespace {

constexpr Bytes kBig = 12 * kGiB;

TEST(Turns, JobsThatFitTogetherRunTogetherAndNothingMoves) {
  Script script;
  for (ClientId client : {1, 2, 3}) {
    script.Newcomer(client, 4 * kGiB);
    script.Want(client);
  }
  for (ClientId client : {1, 2, 3}) EXPECT_TRUE(script.Open(client)) << client;
  script.Wait(seconds(1000));
  for (ClientId client : {1, 2, 3}) EXPECT_TRUE(script.Open(client)) << client;
  EXPECT_TRUE(script.All<Evict>().empty());
  EXPECT_TRUE(script.All<CloseGate>().empty());
  EXPECT_EQ(script.ticks, 0u);
}

TEST(Turns, JobsThatDoNotFitTakeTurns) {
  Script script;
  script.Newcomer(1, kBig);
  script.Newcomer(2, kBig);
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

TEST(Turns, ASliceIsNeverShorterThanItsFloor) {
  Config config = Script::DefaultConfig();
  config.link_estimate = 1e15;  // handovers cost nothing
  Script script(config);
  script.Newcomer(1, kBig);
  script.Newcomer(2, kBig);
  script.Want(1);
  script.Want(2);
  script.Wait(config.slice_floor - milliseconds(1));
  EXPECT_TRUE(script.Open(1));
  script.Wait(milliseconds(2));
  EXPECT_TRUE(script.Open(2));
}

TEST(Turns, TheOneThatWaitsLongestIsNext) {
  Script script;
  for (ClientId client : {1, 2, 3}) script.Newcomer(client, kBig);
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

TEST(Turns, AnIdleJobYieldsAtOnceButOnlyWhenSomebodyWaits) {
  Script script;
  script.Newcomer(1, kBig);
  script.Want(1);
  script.Idle(1);
  EXPECT_TRUE(script.Open(1));
  script.Newcomer(2, kBig);
  script.Want(2);
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
}

// It said that it was idle, could not be closed, and asked for memory before the next attempt.
TEST(Turns, AJobThatAsksForMemoryIsNotIdleAnyMore) {
  for (const bool asks : {false, true}) {
    Script script;
    script.Newcomer(1, kBig);
    script.Newcomer(2, kBig);
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

TEST(Turns, AResidentJobThatFitsIsOpenedAtOnce) {
  Script script;
  script.Newcomer(1, 8 * kGiB);
  script.Newcomer(2, 4 * kGiB);
  script.Want(1);
  script.Newcomer(3, kBig);
  script.Want(3);
  script.Wait(seconds(31));
  ASSERT_TRUE(script.Open(3));  // job 1 was closed for it
  script.Leave(3);
  script.Want(1);
  EXPECT_TRUE(script.Open(1));
  script.Want(2);
  EXPECT_TRUE(script.Open(2));
}

TEST(Turns, OnlyWhoMustIsClosed) {
  Script script;
  script.Newcomer(1, 7 * kGiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.Newcomer(2, 2 * kGiB);
  script.Want(2);
  script.Wait(seconds(100));
  script.Newcomer(3, 9 * kGiB);
  script.Want(3);
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

// The one that runs longest would go first, but when the other has to go as well it need not.
TEST(Turns, WhoWasChosenFirstAndNeedNotGoStays) {
  Script script;
  script.Newcomer(1, 2 * kGiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.Newcomer(2, 7 * kGiB);
  script.Want(2);
  script.Wait(seconds(100));
  script.Newcomer(3, 9 * kGiB);
  script.Want(3);
  EXPECT_TRUE(script.Open(1));
  EXPECT_FALSE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

TEST(Turns, AYoungerJobFillsInOnlyWhereTheOlderLosesNothing) {
  Script script;
  script.Newcomer(1, 8 * kGiB);
  script.Newcomer(2, kBig);
  script.Newcomer(3, 4 * kGiB);
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

TEST(Turns, AJobThatFillsInIsClosedWithTheOthers) {
  Script script;
  script.Newcomer(1, 8 * kGiB);
  script.Newcomer(2, kBig);
  script.Newcomer(3, 4 * kGiB);
  script.Want(1);
  script.Want(2);
  const Time end = script.JobOf(1).slice_ends;
  script.Wait(end / 2);
  script.Want(3);
  EXPECT_TRUE(script.Open(3));
  script.Wait(end - script.now());
  EXPECT_TRUE(script.Open(2));  // although 3 has had half a slice only
  EXPECT_FALSE(script.Open(3));
}

TEST(Turns, AYoungerJobDoesNotFillInJustBeforeTheTurnEnds) {
  Script script;
  script.Newcomer(1, 8 * kGiB);
  script.Newcomer(2, kBig);
  script.Newcomer(3, 4 * kGiB);
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

TEST(Turns, AJobInTheWayOfNobodyFillsInForAFullSlice) {
  Script script;
  script.Newcomer(1, 10 * kGiB);
  script.Newcomer(2, 8 * kGiB);
  script.Newcomer(3, 2 * kGiB);
  script.Want(1);
  script.Want(2);
  script.Want(3);
  EXPECT_TRUE(script.Open(3));
  script.Wait(seconds(31));
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

// Of three that wait, the second fits beside the first, but what it would push out has to move.
class TurnsBesideWhoMayGrow : public ::testing::Test {
 protected:
  TurnsBesideWhoMayGrow() {
    script_.Newcomer(1, kBig);
    script_.Newcomer(2, 4 * kGiB);
    script_.Newcomer(3, 4 * kGiB);
    for (ClientId client : {1, 2, 3}) script_.Want(client);
    script_.hold_gates = true;
    script_.Wait(script_.JobOf(1).slice_ends + seconds(1));  // a handover takes a second
    script_.CloseHeldGate(1);
    script_.hold_gates = false;
    for (int i = 0; i < 20; ++i) {  // the shortest turn in which 4 GiB at 20 GB/s are 5 %
      useful_ += milliseconds(215);
    }
  }

  Script script_;
  Time useful_{0};
};

TEST_F(TurnsBesideWhoMayGrow, MemoryMovesOnlyWhenTheOtherHasStoppedGrowing) {
  ASSERT_TRUE(script_.Open(2));
  EXPECT_FALSE(script_.Open(3));
  EXPECT_EQ(script_.JobOf(3).why, WaitReason::kTurn);
  EXPECT_EQ(script_.JobOf(3).blocked_by, 2u);
  script_.Wait(useful_ - milliseconds(50));
  EXPECT_FALSE(script_.Open(3));
  script_.Wait(milliseconds(50));
  EXPECT_TRUE(script_.Open(2) && script_.Open(3));
}

TEST_F(TurnsBesideWhoMayGrow, WhoGrowsOnHasNotThrownAnybodyOut) {
  script_.Wait(seconds(1));
  script_.Grow(2, 7, 7 * kGiB);
  script_.Wait(useful_);
  EXPECT_FALSE(script_.Open(3));
  EXPECT_EQ(script_.All<CloseGate>().size(), 1u);
  EXPECT_EQ(script_.CardOf(3).books.resident, 0u);
}

TEST_F(TurnsBesideWhoMayGrow, NobodyIsHeldBackForEver) {
  for (std::uint32_t request = 1; request <= 5; ++request) {
    EXPECT_FALSE(script_.Open(3));
    script_.Grow(2, request, 64 * kMiB);
    script_.Wait(seconds(1));
  }
  EXPECT_TRUE(script_.Open(3));
}

TEST(Turns, SeparateGpusHaveSeparateTurns) {
  Script script;
  script.SetBudget(1, 16 * kGiB);
  script.Newcomer(1, kBig, 0);
  script.Newcomer(2, kBig, 1);
  script.Newcomer(3, kBig, 0);
  for (ClientId client : {1, 2, 3}) script.Want(client);
  script.Wait(seconds(31));
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

TEST(Turns, AJobThatNeedsMoreThanOthersLeaveWaitsForGpuMemory) {
  Script script;
  script.Newcomer(1, 4 * kGiB);
  script.Newcomer(2, 15 * kGiB + 256 * kMiB);
  script.Want(2);
  EXPECT_FALSE(script.Open(2));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
  EXPECT_EQ(script.JobOf(2).blocked_by, 1u);
  script.Leave(1);
  EXPECT_TRUE(script.Open(2));
}

}  // namespace
}  // namespace reveza::scheduler
