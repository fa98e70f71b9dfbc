// Tests of which job is closed for the growth of another.
#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace growth_closing_test {

// Two jobs of 6 GiB have just entered, job 1 first; 4 GiB more do not fit.
class TwoGrowingJobs : public ::testing::Test {
 protected:
  explicit TwoGrowingJobs(const Config& config = Script::DefaultConfig()) : script_(config) {
    for (ClientId client : {1, 2}) {
      script_.AddClient(client, 6 * kGiB);
      script_.Want(client);
    }
  }
  Bytes FullyResident(ClientId client) { return script_.CardOf(client).footprint.resident; }

  Script script_;
};

TEST_F(TwoGrowingJobs, EarlierEntrantGrowsAndLaterOneCloses) {
  script_.Grow(1, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
  EXPECT_EQ(FullyResident(2), 5 * kGiB);
}

TEST_F(TwoGrowingJobs, LaterEntrantLeavesWithoutBeingEvicted) {
  script_.Grow(2, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kLater);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
  EXPECT_EQ(FullyResident(2), 6 * kGiB);
  script_.Want(2);
  EXPECT_EQ(script_.JobOf(2).blocked_by, 1u);
  script_.Wait(script_.JobOf(1).slice_ends - script_.now());
  EXPECT_TRUE(script_.Open(2));
  EXPECT_EQ(FullyResident(2), 10 * kGiB);
}

TEST_F(TwoGrowingJobs, IdleJobClosesRegardlessOfEntryOrder) {
  script_.Wait(seconds(100));  // also after both slices have expired
  script_.Idle(1);
  script_.Grow(2, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
  EXPECT_FALSE(script_.Open(1));
  EXPECT_TRUE(script_.Open(2));
}

// Closing the other would readmit it immediately: it would then have waited longer.
TEST_F(TwoGrowingJobs, GrowerWithExpiredSliceLeavesAndIsNext) {
  script_.Wait(seconds(100));
  script_.Grow(1, 7, 4 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kLater);
  EXPECT_FALSE(script_.Open(1));
  EXPECT_TRUE(script_.Open(2));
  EXPECT_EQ(FullyResident(1) + FullyResident(2), 12 * kGiB);
  script_.Want(1);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
  EXPECT_EQ(script_.All<CloseGate>().size(), 2u);
}

// The grower may be inside a capture that this memory would let it finish.
TEST_F(TwoGrowingJobs, UndrainableGrowerWaitsForSliceOfOther) {
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

TEST_F(TwoGrowingJobs, FailedDrainKeepsEntryOrder) {
  script_.AddClient(3, 4 * kGiB);
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

TEST(Growth, ClosesJobWithExpiredSlice) {
  Script script;
  script.AddClient(1, 5 * kGiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.AddClient(2, 4 * kGiB);
  script.Want(2);
  script.Wait(seconds(100));
  script.AddClient(3, 4 * kGiB);
  script.Want(3);
  script.Grow(3, 7, 3 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  EXPECT_FALSE(script.Open(1));  // it has run longer
  EXPECT_TRUE(script.Open(2));
  EXPECT_TRUE(script.Open(3));
}

TEST(Growth, GrowerWithExpiredSliceClosesNoJobInItsSlice) {
  Script script;
  script.AddClient(1, 6 * kGiB);
  script.Want(1);
  script.Wait(seconds(100));
  script.AddClient(2, 6 * kGiB);
  script.Want(2);
  script.Grow(1, 7, 4 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kLater);
  EXPECT_FALSE(script.Open(1));
  EXPECT_TRUE(script.Open(2));
}

TEST(Growth, ClosesLastEntrantOfSeveral) {
  Script script;
  for (ClientId client : {1, 2, 3}) {
    script.AddClient(client, 4 * kGiB);
    script.Want(client);
    script.Wait(milliseconds(10));
  }
  script.Grow(1, 7, 3 * kGiB);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
  EXPECT_TRUE(script.Open(2));
  EXPECT_FALSE(script.Open(3));
}

// Without host memory for a rotation the oldest stays: closing it would make no room. Here it has
// entered last, and had 11 GiB before.
class GrowthBesideOldestJob : public ::testing::Test {
 protected:
  GrowthBesideOldestJob() : script_(Short()) {
    script_.AddClient(1, 0);
    script_.AddClient(2, 4 * kGiB);
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

TEST_F(GrowthBesideOldestJob, OldestIsNotClosed) {
  ASSERT_TRUE(script_.Open(1) && script_.Open(2));
  script_.Grow(2, 7, 256 * kMiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kLater);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
}

// It is also the last to close after a budget cut.
TEST_F(GrowthBesideOldestJob, OldestIsNotClosedAfterBudgetCut) {
  script_.SetExternal(2 * kGiB);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
}

TEST_F(GrowthBesideOldestJob, OldestHasPriority) {
  script_.Grow(1, 7, 2 * kGiB);
  EXPECT_EQ(script_.AnswerTo(7), Growth::kGranted);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_FALSE(script_.Open(2));
}

// Neither of the others can be closed for it. A growth that fits without closing a job may not
// overtake, or the large one would starve.
TEST(Growth, IsServedInRequestOrderPerGpu) {
  Script script;
  for (ClientId client : {1, 2, 3}) {
    script.AddClient(client, 4 * kGiB);
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

// Its other client is about to get a context, so that there is no room for the growth now. A job
// that is active on another GPU is no reason to leave.
TEST(Growth, DoesNotLeaveForJobsOfOtherGpus) {
  Config config = Script::DefaultConfig();
  config.consider_everything = true;
  Script script(config);
  script.SetBudget(1, 16 * kGiB);
  script.AddClient(9, kGiB, 1);
  script.Want(9);
  script.AddClient(3, 7 * kGiB);
  script.Want(3);
  script.Idle(3);
  script.AddClient(1, 8 * kGiB);
  script.Want(1);
  script.Join(2, 1);
  script.hold_evictions = true;
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  ASSERT_TRUE(script.IsEvicting(3)) << "for the context";
  script.Grow(1, 7, 7 * kGiB);
  EXPECT_FALSE(script.Answered(7));
  EXPECT_TRUE(script.Open(1));
}

TEST(Growth, DoesNotCloseJobEnteringByItsTurn) {
  Script script;
  script.AddClient(2, 12 * kGiB);
  script.AddClient(1, 2 * kGiB);
  script.AddClient(3, 12 * kGiB);
  script.Want(2);
  script.Want(3);
  const Time end = script.JobOf(2).slice_ends;
  script.Wait(end - milliseconds(100));
  script.Want(1);  // fits beside both, and has hardly run when 3's turn comes
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

}  // namespace growth_closing_test
}  // namespace reveza::scheduler
