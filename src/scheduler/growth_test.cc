#include "scheduler/growth.h"

#include <gtest/gtest.h>

#include "scheduler/script.h"

namespace reveza::scheduler {
namespace {

TEST(Growth, IsGrantedFromWhatIsFree) {
  Script script;
  script.Newcomer(1, 4 * kGiB);
  script.Want(1);
  script.Grow(1, 7, 2 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  EXPECT_EQ(script.CardOf(1).books.resident, 6 * kGiB);
  EXPECT_EQ(script.GpuOf().credit_out, 6 * kGiB + 512 * kMiB);
}

TEST(Growth, EvictsWhoIsOutAndOnlyAsMuchAsIsNeeded) {
  Script script;
  script.Newcomer(1, 8 * kGiB);
  script.Newcomer(2, 6 * kGiB);
  script.Want(1);
  script.Want(2);
  script.Newcomer(3, 9 * kGiB);
  script.Want(3);
  script.Wait(seconds(31));
  ASSERT_TRUE(script.Open(3));
  const Bytes before = script.CardOf(1).books.resident + script.CardOf(2).books.resident;
  const std::size_t evictions = script.All<Evict>().size();
  script.Grow(3, 7, kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  const Bytes after = script.CardOf(1).books.resident + script.CardOf(2).books.resident;
  EXPECT_EQ(script.All<Evict>().size(), evictions + 1);
  EXPECT_GE(before - after, kGiB - 512 * kMiB);
  EXPECT_LE(before - after, kGiB);
}

TEST(Growth, IsRefusedOnlyWhenTheCardCouldNotServeItAlone) {
  Script script;
  script.Newcomer(1, 4 * kGiB);
  script.Want(1);
  script.Grow(1, 7, 11 * kGiB + 512 * kMiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  script.Grow(1, 8, 64 * kMiB);
  EXPECT_EQ(script.AnswerTo(8), Growth::kRefused);
}

TEST(Growth, ThatIsImpossibleIsRefusedAtOnceAlthoughOthersAreThere) {
  Script script;
  script.Newcomer(1, 4 * kGiB);
  script.Newcomer(2, kGiB);
  script.Want(1);
  script.Grow(1, 7, 13 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
}

TEST(Growth, WaitsForFixedMemoryOfOthersToGo) {
  Script script;
  script.Newcomer(1, 4 * kGiB);
  script.Newcomer(2, kGiB);
  script.Want(1);
  script.Grow(1, 7, 11 * kGiB + 512 * kMiB);  // what 2's context leaves is not enough
  EXPECT_FALSE(script.Answered(7));
  EXPECT_EQ(script.JobOf(1).why, WaitReason::kGpuMemory);
  script.Leave(2);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

TEST(Growth, IsAnsweredLaterWhileTheGateCloses) {
  Script script;
  script.Newcomer(1, 12 * kGiB);
  script.Newcomer(2, 12 * kGiB);
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

TEST(Growth, WaitingForMemoryNeverBlocksAHandover) {
  Script script;
  script.Newcomer(1, 8 * kGiB);
  script.Newcomer(2, 12 * kGiB);
  script.Newcomer(3, kGiB, Script::kGpu, 3 * kGiB);  // much that is fixed
  script.Want(1);
  script.Want(2);
  script.Grow(1, 7, 6 * kGiB);
  EXPECT_FALSE(script.Answered(7));
  script.Wait(seconds(31));
  EXPECT_TRUE(script.Open(2));
  EXPECT_FALSE(script.Answered(7));
  script.Leave(3);  // now it could run with it: it takes it behind its gate
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
}

TEST(Growth, PinnedMemoryWaitsForTheTurn) {
  Script script;
  script.Newcomer(1, 12 * kGiB);
  script.Newcomer(2, 2 * kGiB);
  script.Want(1);
  script.Want(2);
  ASSERT_TRUE(script.Open(2));
  script.hold_gates = true;
  script.Newcomer(3, 12 * kGiB);
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
  EXPECT_EQ(script.CardOf(1).books.pinned, kGiB);
}

TEST(Growth, OfAnUnknownGpuIsRefusedAndOfAnUnknownClientIgnored) {
  Script script;
  script.Join(1, 1);
  script.Grow(1, 7, kMiB, GrowthKind::kSwappable, 5);
  EXPECT_EQ(script.AnswerTo(7), Growth::kRefused);
  script.Grow(99, 8, kMiB);
  EXPECT_FALSE(script.Answered(8));
}

TEST(Growth, NothingIsPinnedWhileAContextMayTurnOutLarger) {
  Script script;
  script.Newcomer(1, 4 * kGiB);
  script.Want(1);
  script.Join(2, 2);
  script.scheduler().ContextWanted(Time(0), 2, Script::kGpu);
  script.Obey();
  script.Grow(1, 7, kGiB, GrowthKind::kPinned);
  script.Grow(1, 8, kGiB);
  EXPECT_FALSE(script.Answered(7));
  EXPECT_EQ(script.AnswerTo(8), Growth::kGranted);
  script.FinishContext(2);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

}  // namespace
}  // namespace reveza::scheduler
