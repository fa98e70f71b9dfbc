#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace growth_test {

TEST(Growth, IsGrantedFromFreeMemory) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.Want(1);
  script.Grow(1, 7, 2 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  EXPECT_EQ(script.CardOf(1).footprint.resident, 6 * kGiB);
  EXPECT_EQ(script.GpuOf().outstanding_credit, 6 * kGiB + 512 * kMiB);
}

TEST(Growth, EvictsOnlyTheShortageFromSuspendedJobs) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, 6 * kGiB);
  script.Want(1);
  script.Want(2);
  script.AddClient(3, 9 * kGiB);
  script.Want(3);
  script.Wait(seconds(31));
  ASSERT_TRUE(script.Open(3));
  const Bytes before = script.CardOf(1).footprint.resident + script.CardOf(2).footprint.resident;
  const std::size_t evictions = script.All<Evict>().size();
  script.Grow(3, 7, kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  const Bytes after = script.CardOf(1).footprint.resident + script.CardOf(2).footprint.resident;
  EXPECT_EQ(script.All<Evict>().size(), evictions + 1);
  EXPECT_GE(before - after, kGiB - 512 * kMiB);
  EXPECT_LE(before - after, kGiB);
}

TEST(Growth, IsRefusedOnlyIfGpuCouldNotServeItAlone) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.Want(1);
  script.Grow(1, 7, 11 * kGiB + 512 * kMiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  script.Grow(1, 8, 64 * kMiB);
  EXPECT_EQ(script.AnswerTo(8), Growth::kRefused);
}

TEST(Growth, ImpossibleGrowthIsRefusedImmediately) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.AddClient(2, kGiB);
  script.Want(1);
  script.Grow(1, 7, 13 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
}

TEST(Growth, WaitsForFixedMemoryOfOthers) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.AddClient(2, kGiB);
  script.Want(1);
  script.Grow(1, 7, 11 * kGiB + 512 * kMiB);  // does not fit beside 2's context
  EXPECT_FALSE(script.Answered(7));
  EXPECT_EQ(script.JobOf(1).why, WaitReason::kGpuMemory);
  script.Leave(2);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

TEST(Growth, OfAHostBackedClientDoesNotWaitForFixedMemoryOfOthers) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.scheduler().SetHostBacked(Time(0), 1);
  script.AddClient(2, kGiB);
  script.Want(1);
  script.Grow(1, 7, 11 * kGiB + 512 * kMiB);  // does not fit beside 2's context
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
  script.Grow(1, 8, 8 * kGiB);
  EXPECT_EQ(script.AnswerTo(8), Growth::kGranted);
}

TEST(Growth, IsAnsweredLaterWhileGateIsClosing) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.Want(2);
  script.hold_gates = true;
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsClosing(1));
  script.Grow(1, 7, kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
  EXPECT_EQ(script.All<AnswerGrowth>().back().credit, 0u);
  script.CloseHeldGate(1);
  EXPECT_TRUE(script.Open(2));
}

TEST(Growth, PendingGrowthNeverBlocksHandover) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.AddClient(3, kGiB, Script::kGpu, 3 * kGiB);  // large context
  script.Want(1);
  script.Want(2);
  script.Grow(1, 7, 6 * kGiB);
  EXPECT_FALSE(script.Answered(7));
  script.Wait(seconds(31));
  EXPECT_TRUE(script.Open(2));
  EXPECT_FALSE(script.Answered(7));
  script.Leave(3);  // now the job could run with it: it allocates behind its gate
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
}

TEST(Growth, PinnedGrowthWaitsForTurn) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 2 * kGiB);
  script.Want(1);
  script.Want(2);
  ASSERT_TRUE(script.Open(2));
  script.hold_gates = true;
  script.AddClient(3, 12 * kGiB);
  script.Want(3);
  script.Wait(seconds(31));
  ASSERT_TRUE(script.IsClosing(1));
  script.Grow(1, 7, kGiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(7));
  script.hold_gates = false;
  script.CloseHeldGate(1);
  EXPECT_TRUE(script.Open(3));
  EXPECT_EQ(script.JobOf(1).state, JobState::kWaiting);
  script.Wait(seconds(31));
  EXPECT_TRUE(script.Open(1));
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  EXPECT_EQ(script.CardOf(1).footprint.pinned, kGiB);
}

TEST(Growth, RefusesUnknownGpuAndIgnoresUnknownClient) {
  Script script;
  script.Join(1, 1);
  script.Grow(1, 7, kMiB, GrowthKind::kSwappable, 5);
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
  script.Grow(99, 8, kMiB);
  EXPECT_FALSE(script.Answered(8));
}

TEST(Growth, PinnedGrowthWaitsForContextCreation) {
  Script script;
  script.AddClient(1, 4 * kGiB);
  script.Want(1);
  script.Join(2, 2);
  script.scheduler().ContextRequested(Time(0), 2, Script::kGpu);
  script.DeliverDecisions();
  script.Grow(1, 7, kGiB, GrowthKind::kPinned);
  script.Grow(1, 8, kGiB);
  EXPECT_FALSE(script.Answered(7));
  EXPECT_EQ(script.AnswerTo(8), Growth::kGranted);
  script.FinishContext(2);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

}  // namespace growth_test
}  // namespace reveza::scheduler
