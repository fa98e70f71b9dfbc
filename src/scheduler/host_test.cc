#include "scheduler/host.h"

#include <gtest/gtest.h>

#include "scheduler/script.h"

namespace reveza::scheduler {
namespace {

constexpr GpuId kGpu = 0;

class HostTest : public ::testing::Test {
 protected:
  HostTest() : books_(Config{}) {
    books_.config.host_budget = 40;
    books_.gpus[kGpu].config = {100, 100, 0};
    books_.now = seconds(1000);
  }

  // Jobs join in the order of their numbers.
  Client& Add(ClientId id, Bytes swappable, Bytes context = 0) {
    Job& job = books_.jobs[id];
    job.id = id;
    job.joined = id;
    books_.job_of[id] = id;
    Client& client = job.clients[id];
    client.id = id;
    client.job = id;
    Holding& holding = client.gpus[kGpu];
    holding.books = {swappable, 0, 0, context};
    holding.credit = holding.books.Need();
    holding.peak = holding.cleared = swappable;
    return client;
  }

  bool Grow(ClientId id, Bytes swappable, Bytes fixed = 0) {
    return HostAllows(books_, {id, kGpu, swappable, fixed});
  }

  Books books_;
};

TEST_F(HostTest, WhatFitsNeedsNoHostMemory) {
  books_.config.host_budget = 0;
  Add(1, 40);
  Add(2, 40);
  EXPECT_TRUE(Grow(2, 20));
  EXPECT_FALSE(Grow(2, 21));
}

TEST_F(HostTest, InRotationEachNeedsRoomForTheOverflow) {
  Add(1, 80);
  Add(2, 30);
  books_.config.host_budget = 20;
  EXPECT_EQ(HostShare(books_, books_.jobs[1].clients[1]), 10u);
  EXPECT_TRUE(Grow(1, 0));
  EXPECT_FALSE(Grow(2, 1));
  books_.config.host_budget = 40;
  EXPECT_TRUE(Grow(2, 10));
  EXPECT_FALSE(Grow(2, 11));
}

TEST_F(HostTest, TheEldestGetsAllThatTheOthersCanLeave) {
  Add(1, 80);
  Add(2, 40);
  EXPECT_TRUE(Grow(1, 20));   // 2 x 40 in rotation would not do; all of the younger one does
  EXPECT_FALSE(Grow(2, 10));  // 2 x 30 in rotation, 50 in succession
}

TEST_F(HostTest, WhatWasReservedForTheEldestIsNotThereForTheOthers) {
  Add(1, 80).arena = 1;
  Add(2, 40);
  EXPECT_FALSE(Grow(1, 20));
}

TEST_F(HostTest, BesideAnElderThatStillGrowsOnlyWhatTheHostCanTake) {
  Add(1, 20);
  Add(2, 30);
  books_.jobs[1].peak_raised = books_.now - books_.config.growth_settles / 2;
  EXPECT_TRUE(Grow(2, 10));
  EXPECT_FALSE(Grow(2, 11));
  ASSERT_TRUE(books_.wake.has_value());
  EXPECT_EQ(*books_.wake, books_.now + books_.config.growth_settles / 2);
  books_.now = *books_.wake;
  EXPECT_TRUE(Grow(2, 11));
  // A younger job that grows is in nobody's way.
  books_.jobs[2].peak_raised = books_.now;
  books_.config.host_budget = 0;
  EXPECT_TRUE(Grow(1, 11));
}

TEST_F(HostTest, WhatWasThereBeforeMayBeTakenAgain) {
  books_.config.host_budget = 0;
  Client& first = Add(1, 60);
  Add(2, 40);
  first.gpus[kGpu].books.resident = 10;
  first.gpus[kGpu].credit = 10;
  EXPECT_FALSE(Grow(2, 1));  // the first may want its 60 again
  EXPECT_TRUE(Grow(1, 50));
  EXPECT_FALSE(Grow(1, 51));
}

TEST_F(HostTest, FixedMemoryAddsToTheOverflowAndNeedsNoHostMemory) {
  books_.config.host_budget = 20;
  Add(1, 60);
  Add(2, 40);
  EXPECT_TRUE(Grow(2, 0, 10));
  EXPECT_FALSE(Grow(2, 0, 11));
  Add(3, 0).resident_only = true;
  EXPECT_EQ(HostShare(books_, books_.jobs[3].clients[3]), 0u);
}

TEST_F(HostTest, WithoutARotationTheEldestKeepsItsPlace) {
  Add(1, 80);
  Add(2, 50);
  EXPECT_TRUE(KeepsItsPlace(books_, books_.jobs[1]));
  EXPECT_EQ(HostShare(books_, books_.jobs[1].clients[1]), 0u);
  EXPECT_FALSE(KeepsItsPlace(books_, books_.jobs[2]));
  EXPECT_EQ(HostShare(books_, books_.jobs[2].clients[2]), 30u);
  books_.config.host_budget = 60;
  EXPECT_FALSE(KeepsItsPlace(books_, books_.jobs[1]));
  EXPECT_EQ(HostShare(books_, books_.jobs[1].clients[1]), 30u);
}

TEST_F(HostTest, TheLargestFootprintIsRemembered) {
  Client& client = Add(1, 10);
  const Holding& holding = client.gpus[kGpu];
  NotePeak(books_, kGpu, client, 10);
  EXPECT_FALSE(books_.jobs[1].peak_raised.has_value());
  NotePeak(books_, kGpu, client, 20);
  EXPECT_EQ(holding.peak, 20u);
  EXPECT_EQ(books_.jobs[1].peak_raised, books_.now);
  NotePeak(books_, kGpu, client, 5);
  EXPECT_EQ(holding.peak, 20u);
}

TEST_F(HostTest, WhatRoundingAddedAddsUpToNoMoreThanAGranule) {
  books_.config.host_budget = 0;
  books_.gpus[kGpu].config.granule = 1;
  Client& client = Add(1, 50);
  Add(2, 50);
  EXPECT_FALSE(Grow(2, 0, 1)) << "both may take one more";
  Holding& holding = client.gpus[kGpu];
  ASSERT_TRUE(Grow(1, 1));
  holding.books.resident = 51;
  NotePeak(books_, kGpu, client, 51);
  EXPECT_FALSE(Grow(1, 1));
}

TEST_F(HostTest, PiecesMoveWhole) {
  books_.gpus[kGpu].config.granule = 8;
  Add(1, 80);
  Add(2, 30);
  books_.config.host_budget = 219;
  EXPECT_EQ(HostShare(books_, books_.jobs[1].clients[1]), 16u) << "10 are too many";
}

TEST_F(HostTest, WithTwiceAsMuchAsAllHaveEverythingIsPrepared) {
  Add(1, 80);
  Add(2, 30);
  books_.config.host_budget = 220;
  EXPECT_EQ(HostShare(books_, books_.jobs[1].clients[1]), 80u);
  EXPECT_EQ(HostShare(books_, books_.jobs[2].clients[2]), 30u);
}

Config Short(Bytes host_budget) {
  Config config = Script::DefaultConfig();
  config.host_budget = host_budget;
  return config;
}

TEST(HostMemory, TheYoungerWaitsAndIsToldWhyUntilTheElderLeaves) {
  Script script(Short(2 * kGiB));
  script.Newcomer(1, 12 * kGiB);
  script.Want(1);
  script.Newcomer(2, 0);
  script.Want(2);
  script.Grow(2, 7, kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  script.Grow(2, 8, 8 * kGiB);
  EXPECT_FALSE(script.Answered(8));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kHostMemory);
  EXPECT_TRUE(script.Open(1));
  script.Wait(seconds(100));
  EXPECT_FALSE(script.Answered(8));
  script.Leave(1);
  EXPECT_EQ(script.AnswerTo(8), Growth::kGranted);
}

TEST(HostMemory, GrowthBehindAClosedGateWaitsAsWell) {
  Script script(Short(9 * kGiB));
  script.Newcomer(1, 12 * kGiB);
  script.Want(1);
  script.Wait(seconds(20));
  script.Newcomer(2, 0);
  script.Grow(2, 7, 8 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
  script.Grow(2, 8, 4 * kGiB);
  EXPECT_FALSE(script.Answered(8));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kHostMemory);
}

TEST(HostMemory, WhenCardAndHostAreFullTheYoungestIsRefused) {
  Script script(Short(kGiB));
  script.Newcomer(1, 7 * kGiB);
  script.Want(1);
  script.Wait(seconds(20));
  script.Newcomer(2, 7 * kGiB);
  script.Want(2);
  script.Wait(seconds(20));
  ASSERT_TRUE(script.Open(1) && script.Open(2));
  script.Grow(2, 7, 3 * kGiB);
  EXPECT_FALSE(script.Answered(7));
  script.Grow(1, 8, 3 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
  EXPECT_FALSE(script.Answered(8));
  script.Leave(2);
  EXPECT_EQ(script.AnswerTo(8), Growth::kGranted);
}

// A job that has just grown may be about to free memory again.
TEST(HostMemory, NobodyIsRefusedBeforeAllHaveSettled) {
  Script script(Short(kGiB));
  script.Newcomer(1, 7 * kGiB);
  script.Want(1);
  script.Wait(seconds(20));
  script.Newcomer(2, 7 * kGiB);
  script.Want(2);
  ASSERT_TRUE(script.Open(1) && script.Open(2));
  script.Grow(2, 7, 3 * kGiB);
  script.Grow(1, 8, 3 * kGiB);
  EXPECT_FALSE(script.Answered(7));
  script.Wait(Script::DefaultConfig().growth_settles);
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
}

TEST(HostMemory, AContextWaitsToo) {
  Script script(Short(kGiB));
  script.Newcomer(1, 8 * kGiB);
  script.Want(1);
  script.Wait(seconds(20));
  script.Newcomer(2, 6 * kGiB);
  script.Want(2);
  script.Wait(seconds(20));
  script.Join(3, 3);
  script.MakeContext(3, 3 * kGiB);
  script.Join(4, 4);
  script.scheduler().ContextWanted(Time(seconds(100)), 4, kGpu);
  script.Obey();
  EXPECT_EQ(script.JobOf(4).why, WaitReason::kHostMemory);
}

}  // namespace
}  // namespace reveza::scheduler
