#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace host_memory_test {

constexpr GpuId kGpu = 0;

class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() : ledger_(Config{}) {
    ledger_.config.host_budget = 40;
    ledger_.gpus[kGpu].config = {100, 100, 0};
    ledger_.now = seconds(1000);
  }

  // Jobs must be added in ascending order.
  Client& Add(ClientId id, Bytes swappable, Bytes context = 0) {
    Job& job = ledger_.jobs[id];
    job.id = id;
    job.joined = id;
    ledger_.job_of[id] = id;
    Client& client = job.clients[id];
    client.id = id;
    client.job = id;
    Holding& holding = client.gpus[kGpu];
    holding.footprint = {swappable, 0, 0, context};
    holding.credit = holding.footprint.Need();
    holding.peak = holding.approved_peak = swappable;
    Register(ledger_, job);
    return client;
  }

  bool Grow(ClientId id, Bytes swappable, Bytes fixed = 0) {
    return FitsHostBudget(ledger_, {id, kGpu, swappable, fixed});
  }

  Ledger ledger_;
};

TEST_F(HostMemoryTest, FittingJobsNeedNoHostMemory) {
  ledger_.config.host_budget = 0;
  Add(1, 40);
  Add(2, 40);
  EXPECT_TRUE(Grow(2, 20));
  EXPECT_FALSE(Grow(2, 21));
}

TEST_F(HostMemoryTest, WhatLiesThereAtItsPlaceIsNotThereForCopies) {
  Client& first = Add(1, 80);
  Add(2, 30);
  EXPECT_TRUE(Grow(2, 10));
  first.on_host = 20;
  EXPECT_FALSE(Grow(2, 10));
  EXPECT_TRUE(Grow(1, 0));
  EXPECT_EQ(ledger_.HostBudget(), 20u);
  first.on_host = 50;
  EXPECT_EQ(ledger_.HostBudget(), 0u);
}

TEST_F(HostMemoryTest, RotationNeedsHostMemoryForEachOverflowShare) {
  Add(1, 80);
  Add(2, 30);
  ledger_.config.host_budget = 20;
  EXPECT_EQ(HostShares(ledger_).at(1), 10u);
  EXPECT_TRUE(Grow(1, 0));
  EXPECT_FALSE(Grow(2, 1));
  ledger_.config.host_budget = 40;
  EXPECT_TRUE(Grow(2, 10));
  EXPECT_FALSE(Grow(2, 11));
}

TEST_F(HostMemoryTest, OldestMayGrowWhileOthersFitOnHost) {
  Add(1, 80);
  Add(2, 40);
  EXPECT_TRUE(Grow(1, 20));   // rotation needs 2 x 40; succession 40
  EXPECT_FALSE(Grow(2, 10));  // rotation needs 2 x 30; succession 50
}

TEST_F(HostMemoryTest, ReservationOfOldestIsDeducted) {
  Add(1, 80).arena = 1;
  Add(2, 40);
  EXPECT_FALSE(Grow(1, 20));
}

TEST_F(HostMemoryTest, OnlySuccessionIsSafeWhileOlderJobGrows) {
  Add(1, 20);
  Add(2, 30);
  ledger_.jobs[1].peak_raised_at = ledger_.now - ledger_.config.growth_settle_time / 2;
  EXPECT_TRUE(Grow(2, 10));
  EXPECT_FALSE(Grow(2, 11));
  ASSERT_TRUE(ledger_.wake.has_value());
  EXPECT_EQ(*ledger_.wake, ledger_.now + ledger_.config.growth_settle_time / 2);
  ledger_.now = *ledger_.wake;
  EXPECT_TRUE(Grow(2, 11));
  // Growth of a younger job is irrelevant.
  ledger_.jobs[2].peak_raised_at = ledger_.now;
  ledger_.config.host_budget = 0;
  EXPECT_TRUE(Grow(1, 11));
}

TEST_F(HostMemoryTest, FreedMemoryMayBeReallocated) {
  ledger_.config.host_budget = 0;
  Client& first = Add(1, 60);
  Add(2, 40);
  first.gpus[kGpu].footprint.resident = 10;
  first.gpus[kGpu].credit = 10;
  EXPECT_FALSE(Grow(2, 1));  // job 1 may reallocate its 60
  EXPECT_TRUE(Grow(1, 50));
  EXPECT_FALSE(Grow(1, 51));
}

TEST_F(HostMemoryTest, FixedMemoryAddsToOverflowOnly) {
  ledger_.config.host_budget = 20;
  Add(1, 60);
  Add(2, 40);
  EXPECT_TRUE(Grow(2, 0, 10));
  EXPECT_FALSE(Grow(2, 0, 11));
  Add(3, 0).resident_only = true;
  EXPECT_EQ(HostShares(ledger_).at(3), 0u);
}

TEST_F(HostMemoryTest, OldestIsExemptWhenRotationIsUnsafe) {
  Add(1, 80);
  Add(2, 50);
  EXPECT_TRUE(ExemptFromEviction(ledger_, ledger_.jobs[1]));
  EXPECT_EQ(HostShares(ledger_).at(1), 0u);
  EXPECT_FALSE(ExemptFromEviction(ledger_, ledger_.jobs[2]));
  EXPECT_EQ(HostShares(ledger_).at(2), 30u);
  ledger_.config.host_budget = 60;
  EXPECT_FALSE(ExemptFromEviction(ledger_, ledger_.jobs[1]));
  EXPECT_EQ(HostShares(ledger_).at(1), 30u);
}

TEST_F(HostMemoryTest, UpdatePeakKeepsMaximum) {
  Client& client = Add(1, 10);
  const Holding& holding = client.gpus[kGpu];
  UpdatePeak(ledger_, kGpu, client, 10);
  EXPECT_FALSE(ledger_.jobs[1].peak_raised_at.has_value());
  UpdatePeak(ledger_, kGpu, client, 20);
  EXPECT_EQ(holding.peak, 20u);
  EXPECT_EQ(ledger_.jobs[1].peak_raised_at, ledger_.now);
  UpdatePeak(ledger_, kGpu, client, 5);
  EXPECT_EQ(holding.peak, 20u);
}

TEST_F(HostMemoryTest, RoundingToleranceDoesNotAccumulate) {
  ledger_.config.host_budget = 0;
  ledger_.gpus[kGpu].config.granule = 1;
  Client& client = Add(1, 50);
  Add(2, 50);
  EXPECT_FALSE(Grow(2, 0, 1)) << "both may take one more";
  Holding& holding = client.gpus[kGpu];
  ASSERT_TRUE(Grow(1, 1));
  holding.footprint.resident = 51;
  UpdatePeak(ledger_, kGpu, client, 51);
  EXPECT_FALSE(Grow(1, 1));
}

TEST_F(HostMemoryTest, HostShareIsRoundedToGranules) {
  ledger_.gpus[kGpu].config.granule = 8;
  Add(1, 80);
  Add(2, 30);
  ledger_.config.host_budget = 219;
  EXPECT_EQ(HostShares(ledger_).at(1), 16u) << "10 are too many";
}

TEST_F(HostMemoryTest, AmpleHostMemoryPreparesWholeFootprint) {
  Add(1, 80);
  Add(2, 30);
  ledger_.config.host_budget = 220;
  EXPECT_EQ(HostShares(ledger_).at(1), 80u);
  EXPECT_EQ(HostShares(ledger_).at(2), 30u);
}

Config Short(Bytes host_budget) {
  Config config = Script::DefaultConfig();
  config.host_budget = host_budget;
  return config;
}

TEST(HostMemory, YoungerJobWaitsWithReasonUntilOlderLeaves) {
  Script script(Short(2 * kGiB));
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  script.AddClient(2, 0);
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

TEST(HostMemory, GrowthBehindClosedGateWaits) {
  Script script(Short(9 * kGiB));
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  script.Wait(seconds(20));
  script.AddClient(2, 0);
  script.Grow(2, 7, 8 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
  script.Grow(2, 8, 4 * kGiB);
  EXPECT_FALSE(script.Answered(8));
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kHostMemory);
}

TEST(HostMemory, FullGpuAndHostRefuseYoungest) {
  Script script(Short(kGiB));
  script.AddClient(1, 7 * kGiB);
  script.Want(1);
  script.Wait(seconds(20));
  script.AddClient(2, 7 * kGiB);
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

// A job that has just grown may free memory again.
TEST(HostMemory, NothingIsRefusedBeforeFootprintsSettle) {
  Script script(Short(kGiB));
  script.AddClient(1, 7 * kGiB);
  script.Want(1);
  script.Wait(seconds(20));
  script.AddClient(2, 7 * kGiB);
  script.Want(2);
  ASSERT_TRUE(script.Open(1) && script.Open(2));
  script.Grow(2, 7, 3 * kGiB);
  script.Grow(1, 8, 3 * kGiB);
  EXPECT_FALSE(script.Answered(7));
  script.Wait(Script::DefaultConfig().growth_settle_time);
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
}

TEST(HostMemory, ContextWaitsForHostMemory) {
  Script script(Short(kGiB));
  script.AddClient(1, 8 * kGiB);
  script.Want(1);
  script.Wait(seconds(20));
  script.AddClient(2, 6 * kGiB);
  script.Want(2);
  script.Wait(seconds(20));
  script.Join(3, 3);
  script.MakeContext(3, 3 * kGiB);
  script.Join(4, 4);
  script.scheduler().ContextRequested(Time(seconds(100)), 4, kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.JobOf(4).why, WaitReason::kHostMemory);
}

}  // namespace host_memory_test
}  // namespace reveza::scheduler
