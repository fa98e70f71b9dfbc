// Who is closed for the growth of another.
#include <gtest/gtest.h>

#include "scheduler/growth.h"
#include "scheduler/script.h"

namespace reveza::scheduler {
namespace {

// Two of 6 GiB that have just come in, the first one first; 4 GiB more do not fit.
class GrowthOfTwo : public ::testing::Test {
 protected:
  explicit GrowthOfTwo(const Config& config = Script::DefaultConfig()) : script_(config) {
    for (ClientId client : {1, 2}) {
      script_.Newcomer(client, 6 * kGiB);
      script_.Want(client);
    }
  }
  Bytes Resident(ClientId client) { return script_.CardOf(client).books.resident; }

  Script script_;
};

TEST_F(GrowthOfTwo, TheFirstToComeInGrowsOnAndTheLaterOneMakesRoom) {
  script_.Grow(1, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
  EXPECT_EQ(Resident(2), 5 * kGiB);
}

TEST_F(GrowthOfTwo, TheLaterOneLeavesByItselfAndStaysWhereItIs) {
  script_.Grow(2, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kLater);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
  EXPECT_EQ(Resident(2), 6 * kGiB);
  script_.Want(2);
  EXPECT_EQ(script_.JobOf(2).blocked_by, 1u);
  script_.Wait(script_.JobOf(1).slice_ends - script_.now());
  EXPECT_TRUE(script_.Open(2));
  EXPECT_EQ(Resident(2), 10 * kGiB);
}

TEST_F(GrowthOfTwo, AnIdleOneMakesRoomWheneverItCameIn) {
  script_.Wait(seconds(100));  // also when the slices of both are over
  script_.Idle(1);
  script_.Grow(2, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
  EXPECT_FALSE(script_.Open(1));
  EXPECT_TRUE(script_.Open(2));
}

// Closing the other would let it in again at once: it has the older claim to a turn then.
TEST_F(GrowthOfTwo, AfterTheirSlicesWhoGrowsLeavesAndIsNext) {
  script_.Wait(seconds(100));
  script_.Grow(1, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kLater);
  EXPECT_FALSE(script_.Open(1));
  EXPECT_TRUE(script_.Open(2));
  EXPECT_EQ(Resident(1) + Resident(2), 12 * kGiB);
  script_.Want(1);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
  EXPECT_EQ(script_.All<CloseGate>().size(), 2u);
}

// It may be in the middle of a capture, which this very memory would let come to its end.
TEST_F(GrowthOfTwo, WhoCannotBeDrainedWaitsForTheOthersSlice) {
  script_.hold_gates = true;
  script_.Grow(2, 7, 4 * kGiB, GrowthKind::kPinned);
  while (!script_.IsClosing(1)) {
    ASSERT_LT(script_.now(), seconds(60));
    if (script_.IsClosing(2)) script_.FailHeldGate(2);
    script_.Wait(milliseconds(100));
  }
  EXPECT_GE(script_.now(), Script::DefaultConfig().slice_floor);
  EXPECT_FALSE(script_.Answered(7));
  script_.CloseHeldGate(1);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
  EXPECT_TRUE(script_.Open(2));
}

TEST_F(GrowthOfTwo, AFailedDrainMakesNobodyTheLaterOne) {
  script_.Newcomer(3, 4 * kGiB);
  script_.Want(3);
  script_.hold_gates = true;
  script_.Idle(1);
  ASSERT_TRUE(script_.IsClosing(1));
  script_.FailHeldGate(1);
  script_.Leave(3);
  script_.hold_gates = false;
  ASSERT_TRUE(script_.Open(1) && script_.Open(2));
  script_.Grow(2, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kLater);
}

TEST(Growth, ComesBeforeASliceThatIsLongOver) {
  Script script;
  script.Newcomer(1, 5 * kGiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.Newcomer(2, 4 * kGiB);
  script.Want(2);
  script.Wait(seconds(100));
  script.Newcomer(3, 4 * kGiB);
  script.Want(3);
  script.Grow(3, 7, 3 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  EXPECT_FALSE(script.Open(1));  // it ran for longer
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

TEST(Growth, WhoseOwnSliceIsOverEndsNobodysSlice) {
  Script script;
  script.Newcomer(1, 6 * kGiB);
  script.Want(1);
  script.Wait(seconds(100));
  script.Newcomer(2, 6 * kGiB);
  script.Want(2);
  script.Grow(1, 7, 4 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
}

TEST(Growth, OfSeveralThatCameInLaterTheLastMakesRoom) {
  Script script;
  for (ClientId client : {1, 2, 3}) {
    script.Newcomer(client, 4 * kGiB);
    script.Want(client);
    script.Wait(milliseconds(10));
  }
  script.Grow(1, 7, 3 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  EXPECT_TRUE(script.Open(2));
  EXPECT_FALSE(script.Open(3));
}

// Where host memory allows no rotation the eldest stays: closing it would make no room. Here it
// is the later one, and had 11 GiB before.
class GrowthBesideTheEldest : public ::testing::Test {
 protected:
  GrowthBesideTheEldest() : script_(Short()) {
    script_.Newcomer(1, 0);
    script_.Newcomer(2, 4 * kGiB);
    script_.Want(2);
    script_.Wait(milliseconds(10));
    script_.Want(1);
    script_.Grow(1, 1, 11 * kGiB);
    script_.Free(1, 5 * kGiB);
    script_.Grow(2, 2, 5 * kGiB);
  }
  static Config Short() {
    Config config = Script::DefaultConfig();
    config.host_budget = 9 * kGiB + 512 * kMiB;
    return config;
  }

  Script script_;
};

TEST_F(GrowthBesideTheEldest, ItKeepsItsPlace) {
  ASSERT_TRUE(script_.Open(1) && script_.Open(2));
  script_.Grow(2, 7, 256 * kMiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kLater);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
}

// Also for a smaller budget it is the last to go.
TEST_F(GrowthBesideTheEldest, ItIsNotClosedForASmallerBudget) {
  script_.SetExternal(2 * kGiB);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
}

TEST_F(GrowthBesideTheEldest, ItGoesFirst) {
  script_.Grow(1, 7, 2 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
}

// Neither of the others could be closed for it. What would fit without closing anybody may not
// overtake: the large one would wait for ever.
TEST(Growth, OfAGpuIsServedInOrderOfAsking) {
  Script script;
  for (ClientId client : {1, 2, 3}) {
    script.Newcomer(client, 4 * kGiB);
    script.Want(client);
  }
  script.hold_gates = true;
  script.Grow(1, 7, 4 * kGiB);
  for (ClientId client : {3, 2}) {
    ASSERT_TRUE(script.IsClosing(client));
    script.FailHeldGate(client);
  }
  ASSERT_FALSE(script.Answered(7));
  script.Grow(2, 8, kGiB);
  EXPECT_FALSE(script.Answered(8));
  script.hold_gates = false;
  script.Wait(seconds(10));
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

TEST(Growth, DoesNotThrowOutAJobThatComesInByItsTurn) {
  Script script;
  script.Newcomer(2, 12 * kGiB);
  script.Newcomer(1, 2 * kGiB);
  script.Newcomer(3, 12 * kGiB);
  script.Want(2);
  script.Want(3);
  const Time end = script.JobOf(2).slice_ends;
  script.Wait(end - milliseconds(100));
  script.Want(1);  // fits beside both, and has hardly run when the turn of 3 comes
  ASSERT_TRUE(script.Open(1));
  script.hold_evictions = true;
  script.Wait(milliseconds(100));
  ASSERT_TRUE(script.IsEvicting(2));
  ASSERT_EQ(script.JobOf(3).state, JobState::kEntering);
  script.Grow(1, 7, 2 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
  EXPECT_FALSE(script.Open(1));
  EXPECT_EQ(script.JobOf(3).state, JobState::kEntering);
  script.FinishHeldEviction(2);
  EXPECT_TRUE(script.Open(3));
}

}  // namespace
}  // namespace reveza::scheduler
