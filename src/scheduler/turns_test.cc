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
