#include <gtest/gtest.h>

#include <set>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace admission_test {

TEST(Admission, AdmitsOneContextAtATimePerGpu) {
  Script script;
  script.Join(1, 1);
  script.Join(2, 2);
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  ASSERT_EQ(script.All<AdmitContext>().size(), 1u);
  EXPECT_EQ(script.All<AdmitContext>()[0].client, 1u);
  EXPECT_EQ(script.JobOf(2).state, JobState::kQueued);
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kContext);
  script.FinishContext(1);
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);
}

TEST(Admission, ContextTimeoutAdmitsNextClient) {
  Script script;
  script.Join(1, 1);
  script.Join(2, 2);
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  script.Wait(Script::DefaultConfig().context_timeout - milliseconds(1));
  EXPECT_EQ(script.All<AdmitContext>().size(), 1u);
  script.Wait(milliseconds(1));
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);
  // The slow client keeps its credit: it may still create its context.
  EXPECT_EQ(script.GpuOf().outstanding_credit, 2 * Script::DefaultConfig().context_estimate);
}

TEST(Admission, DeathDuringContextCreationAdmitsNextClient) {
  Script script;
  script.Join(1, 1);
  script.Join(2, 2);
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.Leave(1);
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);
}

// At the timeout, not at the next event of a client.
TEST(Admission, PinnedGrowthResumesAfterContextTimeout) {
  Script script;
  script.AddClient(1, kGiB);
  script.Want(1);
  script.Join(2, 2);
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  script.Grow(1, 7, 64 * kMiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(7));
  script.Wait(Script::DefaultConfig().context_timeout);
  ASSERT_TRUE(script.Answered(7));
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

TEST(Admission, PinnedGrowthResumesAfterContextCreatorDies) {
  Script script;
  script.AddClient(1, kGiB);
  script.Want(1);
  script.Join(2, 2);
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  script.Grow(1, 7, 64 * kMiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(7));
  script.Leave(2);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

TEST(Admission, EstimateIsLargestContextSeen) {
  Script script;
  script.Join(1, 1);
  script.MakeContext(1, 300 * kMiB);
  EXPECT_EQ(script.GpuOf().outstanding_credit, 300 * kMiB);
  script.Join(2, 2);
  script.MakeContext(2, 200 * kMiB);
  EXPECT_EQ(script.All<AdmitContext>()[1].credit, 300 * kMiB);
  script.Join(3, 3);
  script.MakeContext(3, 200 * kMiB);
  EXPECT_EQ(script.All<AdmitContext>()[2].credit, 300 * kMiB);
  EXPECT_EQ(script.GpuOf().outstanding_credit, 700 * kMiB);
}

TEST(Admission, InitialEstimateIsCappedAtOneEighthOfBudget) {
  Script script(Script::DefaultConfig(), kGiB);
  script.Join(1, 1);
  script.MakeContext(1, kMiB);
  EXPECT_EQ(script.All<AdmitContext>()[0].credit, 128 * kMiB);
}

TEST(Admission, ContextEvictsAndClosesOtherJobs) {
  Script script;
  script.AddClient(1, 8 * kGiB);
  script.AddClient(2, 6 * kGiB + 512 * kMiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.Want(2);
  ASSERT_TRUE(script.Open(1));
  ASSERT_TRUE(script.Open(2));
  script.Join(3, 3);
  script.MakeContext(3, 600 * kMiB);
  EXPECT_TRUE(script.Open(1));
  EXPECT_FALSE(script.Open(2));  // of two in their slice, the last to enter
  EXPECT_LE(script.GpuOf().outstanding_credit, 16 * kGiB);
  EXPECT_EQ(script.CardOf(3).credit, 600 * kMiB);
}

TEST(Admission, ContextWaitsIfAnotherJobCouldNoLongerRunAlone) {
  Script script;
  script.AddClient(1, 15 * kGiB);
  script.Want(1);
  script.Join(2, 2);
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);  // 16 - 15 - 0.5 GiB suffice for one more
  script.FinishContext(2);
  script.Join(3, 3);
  script.scheduler().ContextRequested(script.now(), 3, Script::kGpu);
  script.Wait(seconds(1000));
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);
  EXPECT_EQ(script.JobOf(3).state, JobState::kQueued);
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kGpuMemory);
  script.Leave(2);
  EXPECT_EQ(script.All<AdmitContext>().size(), 3u);
}

TEST(Admission, ImpossibleContextIsLeftToTheDriver) {
  Script script;
  script.AddClient(1, 15 * kGiB + 256 * kMiB);
  script.Want(1);
  script.Join(2, 1);  // the same job
  script.scheduler().ContextRequested(script.now(), 2, Script::kGpu);
  script.DeliverDecisions();
  ASSERT_EQ(script.All<AdmitContext>().size(), 2u);
  EXPECT_EQ(script.All<AdmitContext>()[1].credit, 256 * kMiB);
}

TEST(Admission, MaxWaitLimitsRotatingJobs) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(45);  // slices of 12.9 s, and handovers of 0.64 s
  Script script(config);
  for (ClientId client : {1, 2, 3, 4, 5}) {
    script.AddClient(client, 12 * kGiB);
    script.Want(client);
  }
  EXPECT_EQ(script.JobOf(3).state, JobState::kWaiting);
  EXPECT_EQ(script.JobOf(4).state, JobState::kQueued);
  EXPECT_EQ(script.JobOf(4).why, WaitReason::kQueue);
  EXPECT_EQ(script.JobOf(5).why, WaitReason::kQueue);
  script.Leave(2);
  EXPECT_EQ(script.JobOf(4).state, JobState::kWaiting);
  EXPECT_EQ(script.JobOf(5).state, JobState::kQueued);
}

TEST(Admission, JobsThatRestOnTheGpuTakeNoTurns) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(45);  // for three jobs
  Script script(config);
  for (ClientId client : {1, 2, 3, 4}) {
    script.AddClient(client, 3 * kGiB);
    script.Want(client);
    script.Idle(client);
  }
  for (ClientId client : {1, 2, 3, 4}) EXPECT_TRUE(script.Open(client));
  script.AddClient(5, 12 * kGiB);
  script.Want(5);
  EXPECT_NE(script.JobOf(5).state, JobState::kQueued);
  script.Wait(seconds(1));
  EXPECT_TRUE(script.Open(5));
}

TEST(Admission, AgeingAdmitsQueuedJobWhenOthersNeverEnd) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(30);
  Script script(config);
  for (ClientId client : {1, 2, 3, 4, 5}) {
    script.AddClient(client, 12 * kGiB);
    script.Want(client);
  }
  script.hold_gates = true;
  std::set<ClientId> ran;
  for (int second = 0; second < 400; ++second) {
    for (ClientId client : {1, 2, 3, 4, 5}) {
      if (script.Open(client)) ran.insert(client);
      if (!script.IsClosing(client)) continue;
      script.Want(client);  // a thread reaches the gate while it is closing
      script.CloseHeldGate(client);
    }
    script.Wait(seconds(1));
  }
  EXPECT_EQ(ran.size(), 5u);
}

// The driver would fail while an exiting process still holds memory.
TEST(Admission, ContextWaitsForExitingExternalProcess) {
  Script script;
  script.SetExternal(16 * kGiB - 64 * kMiB);
  script.Join(1, 1);
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  script.Wait(seconds(20));
  EXPECT_TRUE(script.All<AdmitContext>().empty());
  script.SetExternal(0);
  ASSERT_EQ(script.All<AdmitContext>().size(), 1u);
  EXPECT_EQ(script.All<AdmitContext>()[0].credit, Script::DefaultConfig().context_estimate);
}

TEST(Admission, ContextDoesNotWaitForLongLivedExternalProcess) {
  Script script;
  script.SetExternal(16 * kGiB - 64 * kMiB);
  script.Join(1, 1);
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  script.Wait(seconds(31));
  ASSERT_EQ(script.All<AdmitContext>().size(), 1u);
  EXPECT_EQ(script.All<AdmitContext>()[0].credit, 64 * kMiB);
}

// A client whose gate closes while its context is created reports what that was estimated at, and
// has nothing to report when the gate shall open again.
TEST(Admission, EstimateReportedMeanwhileGivesWayToTheSizeOfTheContext) {
  Script script;
  script.Join(1, 1);
  script.scheduler().ContextRequested(script.now(), 1, Script::kGpu);
  const Bytes estimate = Script::DefaultConfig().context_estimate;
  script.scheduler().AccountChanged(script.now(), 1, Script::kGpu, {.context = estimate}, 0, 0);
  script.scheduler().ContextCreated(script.now(), 1, Script::kGpu, estimate / 2);
  script.Want(1);
  EXPECT_EQ(script.All<OpenGate>().size(), 1u);
}

}  // namespace admission_test
}  // namespace reveza::scheduler
