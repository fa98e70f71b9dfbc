// Growth that waits: for memory of others, on the card and on the host, and what ends the wait.
#include <gtest/gtest.h>

#include "scheduler/growth.h"
#include "scheduler/script.h"

namespace reveza::scheduler {
namespace {

TEST(Growth, OfTwoThatBlockEachOtherTheYoungestIsRefused) {
  Script script;
  for (ClientId client : {1, 2}) {
    script.Newcomer(client, kGiB);
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

TEST(Growth, NobodyIsRefusedWhileMemoryIsOnItsWayBack) {
  Script script;
  script.SetBudget(1, 16 * kGiB);
  for (ClientId client : {4, 5}) {
    script.Newcomer(client, 12 * kGiB, 1);
    script.Want(client);
  }
  script.hold_evictions = true;
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsEvicting(4));
  for (ClientId client : {1, 2}) {
    script.Newcomer(client, kGiB);
    script.Want(client);
    script.Grow(client, static_cast<std::uint32_t>(client), 5 * kGiB, GrowthKind::kPinned);
  }
  script.Grow(1, 11, 6 * kGiB, GrowthKind::kPinned);
  script.Grow(2, 12, 6 * kGiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(12));
  script.FinishHeldEviction(4);
  EXPECT_EQ(script.AnswerTo(12), Growth::kRefused);
}

// The first growth waits for an eviction that the second must not count on.
TEST(Growth, WhatIsPromisedToOneIsNotPromisedToAnother) {
  Script script;
  for (ClientId client : {1, 2, 3}) script.Newcomer(client, 4 * kGiB);
  for (ClientId client : {1, 2}) script.Want(client);
  script.hold_evictions = true;
  script.Newcomer(4, 6 * kGiB);
  script.Want(3);
  ASSERT_TRUE(script.Open(1) && script.Open(2) && script.Open(3));
  script.Grow(1, 7, 8 * kGiB, GrowthKind::kPinned);
  script.Grow(2, 8, 8 * kGiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(8));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kGpuMemory);
}

// Each of the two would have room on the card and the host, but not both.
TEST(Growth, WhatIsPromisedToOneIsNotOnTheHostForAnother) {
  Config config = Script::DefaultConfig();
  config.host_budget = kGiB;
  Script script(config);
  script.Newcomer(1, 12 * kGiB);
  script.Want(1);
  for (ClientId client : {2, 3}) {
    script.Newcomer(client, 0);
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

// Two threads of a job that is out wait for pinned memory, beside what another has pinned. Both
// together would keep the job out for ever.
TEST(Growth, OfTwoThatComeWithTheEntryOfAJobTheSecondWaits) {
  Script script;
  for (ClientId client : {1, 2}) {
    script.Join(client, 1);
    script.MakeContext(client);
  }
  script.Newcomer(3, 0);
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

// A program that ends is outside, with all its memory, until the driver has freed it. Whoever grows
// at that moment waits.
TEST(Growth, WaitsForMemoryOfAProcessThatEnds) {
  Script script;
  script.Newcomer(1, 6 * kGiB);
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

TEST(Growth, IsRefusedForAProcessOutsideThatStays) {
  Script script;
  script.Newcomer(1, 6 * kGiB);
  script.Want(1);
  script.Newcomer(2, 0);
  script.Want(2);  // it runs on, and its end would not help
  script.SetExternal(8 * kGiB);
  script.Grow(1, 7, 4 * kGiB);
  script.Wait(seconds(31));
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
  script.Grow(1, 8, 4 * kGiB);
  EXPECT_EQ(script.AnswerTo(8), Growth::kRefused);
}

// One after the other they would be refused for each other's pinned memory; here it is the process
// outside that leaves too little.
TEST(Growth, NobodyIsRefusedForOthersWhileAProcessOutsideMayEnd) {
  Script script;
  for (ClientId client : {1, 2}) {
    script.Newcomer(client, 0);
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

// A growth for which another was closed, whose memory then cannot be moved for a while.
class GrowthBesideAFailedEviction : public ::testing::Test {
 protected:
  GrowthBesideAFailedEviction() {
    for (ClientId client : {1, 2}) {
      script_.Newcomer(client, 6 * kGiB);
      script_.Want(client);
    }
    script_.hold_evictions = true;
    script_.Grow(1, 7, 4 * kGiB);
    script_.FinishHeldEviction(2, EvictFailure::kHostMemory);
  }

  Script script_;
};

TEST_F(GrowthBesideAFailedEviction, ItWaitsForHostMemoryAndTheOtherComesBack) {
  EXPECT_FALSE(script_.Answered(7));
  EXPECT_EQ(script_.JobOf(1).why, WaitReason::kHostMemory);
  script_.Want(2);
  EXPECT_TRUE(script_.Open(2));
}

TEST_F(GrowthBesideAFailedEviction, NobodyIsClosedInVain) {
  script_.Want(2);
  const std::size_t closed = script_.All<CloseGate>().size();
  script_.Wait(Script::DefaultConfig().evict_retry - milliseconds(1));
  EXPECT_EQ(script_.All<CloseGate>().size(), closed);
  EXPECT_TRUE(script_.Open(1) && script_.Open(2));
}

TEST_F(GrowthBesideAFailedEviction, AnotherAttemptIsMadeInTime) {
  script_.Want(2);
  script_.Wait(Script::DefaultConfig().evict_retry);
  ASSERT_TRUE(script_.IsEvicting(2));
  script_.FinishHeldEviction(2);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
}

// What 1 has pinned keeps 2 out: both are stuck, but only until the eviction is tried again.
TEST(Growth, NobodyIsRefusedWhileAnEvictionRests) {
  Config config = Script::DefaultConfig();
  config.growth_settles = Time(0);
  Script script(config);
  script.Newcomer(1, 2 * kGiB);
  script.Newcomer(2, 10 * kGiB);
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

// One eviction there would be room for, but then the two could no longer take turns.
TEST(Contexts, WaitWhereHostMemoryAllowsNoTurns) {
  Config config = Script::DefaultConfig();
  config.host_budget = 256 * kMiB;
  Script script(config);
  script.Newcomer(1, 9 * kGiB);
  script.Newcomer(2, 5 * kGiB + 768 * kMiB);
  for (ClientId client : {1, 2}) script.Want(client);
  script.Join(3, 3);
  script.scheduler().ContextWanted(script.now(), 3, Script::kGpu);
  script.Obey();
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kHostMemory);
  EXPECT_TRUE(script.Open(1) && script.Open(2));
}

TEST(Contexts, WhoseRoomCannotBeMovedWaitForHostMemory) {
  Script script;
  for (ClientId client : {1, 2}) {
    script.Newcomer(client, 7 * kGiB + 512 * kMiB);
    script.Want(client);
  }
  script.hold_evictions = true;
  script.Join(3, 3);
  script.scheduler().ContextWanted(script.now(), 3, Script::kGpu);
  script.Obey();
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

}  // namespace
}  // namespace reveza::scheduler
