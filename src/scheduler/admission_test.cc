#include "scheduler/admission.h"

#include <gtest/gtest.h>

#include <set>

#include "scheduler/script.h"

namespace reveza::scheduler {
namespace {

TEST(Admission, OneClientAtATimeMakesItsContext) {
  Script script;
  script.Join(1, 1);
  script.Join(2, 2);
  script.scheduler().ContextWanted(script.now(), 1, Script::kGpu);
  script.scheduler().ContextWanted(script.now(), 2, Script::kGpu);
  script.Obey();
  ASSERT_EQ(script.All<AdmitContext>().size(), 1u);
  EXPECT_EQ(script.All<AdmitContext>()[0].client, 1u);
  EXPECT_EQ(script.JobOf(2).state, JobState::kQueued);
  EXPECT_EQ(script.JobOf(2).why, WaitReason::kContext);
  script.FinishContext(1);
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);
}

TEST(Admission, ASlowMakerPassesTheTurnOn) {
  Script script;
  script.Join(1, 1);
  script.Join(2, 2);
  script.scheduler().ContextWanted(script.now(), 1, Script::kGpu);
  script.scheduler().ContextWanted(script.now(), 2, Script::kGpu);
  script.Obey();
  script.Wait(Script::DefaultConfig().context_limit - milliseconds(1));
  EXPECT_EQ(script.All<AdmitContext>().size(), 1u);
  script.Wait(milliseconds(1));
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);
  // It keeps its credit, for it may still make its context.
  EXPECT_EQ(script.GpuOf().credit_out, 2 * Script::DefaultConfig().context_estimate);
}

TEST(Admission, ADeadMakerPassesTheTurnOn) {
  Script script;
  script.Join(1, 1);
  script.Join(2, 2);
  script.scheduler().ContextWanted(script.now(), 1, Script::kGpu);
  script.scheduler().ContextWanted(script.now(), 2, Script::kGpu);
  script.Leave(1);
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);
}

TEST(Admission, WhatIsToBePinnedWaitsForNoDeadMaker) {
  Script script;
  script.Newcomer(1, kGiB);
  script.Want(1);
  script.Join(2, 2);
  script.scheduler().ContextWanted(script.now(), 2, Script::kGpu);
  script.Obey();
  script.Grow(1, 7, 64 * kMiB, GrowthKind::kPinned);
  EXPECT_FALSE(script.Answered(7));
  script.Leave(2);
  EXPECT_EQ(script.AnswerTo(7), Growth::kGranted);
}

TEST(Admission, TheLargestContextSeenIsTheEstimate) {
  Script script;
  script.Join(1, 1);
  script.MakeContext(1, 300 * kMiB);
  EXPECT_EQ(script.GpuOf().credit_out, 300 * kMiB);
  script.Join(2, 2);
  script.MakeContext(2, 200 * kMiB);
  EXPECT_EQ(script.All<AdmitContext>()[1].credit, 300 * kMiB);
  script.Join(3, 3);
  script.MakeContext(3, 200 * kMiB);
  EXPECT_EQ(script.All<AdmitContext>()[2].credit, 300 * kMiB);
  EXPECT_EQ(script.GpuOf().credit_out, 700 * kMiB);
}

TEST(Admission, TheFirstEstimateIsAtMostAnEighthOfTheBudget) {
  Script script(Script::DefaultConfig(), kGiB);
  script.Join(1, 1);
  script.MakeContext(1, kMiB);
  EXPECT_EQ(script.All<AdmitContext>()[0].credit, 128 * kMiB);
}

TEST(Admission, RoomForAContextIsMadeByEvictionAndByClosing) {
  Script script;
  script.Newcomer(1, 8 * kGiB);
  script.Newcomer(2, 6 * kGiB + 512 * kMiB);
  script.Want(1);
  script.Wait(seconds(1));
  script.Want(2);
  ASSERT_TRUE(script.Open(1));
  ASSERT_TRUE(script.Open(2));
  script.Join(3, 3);
  script.MakeContext(3, 600 * kMiB);
  EXPECT_TRUE(script.Open(1));
  EXPECT_FALSE(script.Open(2));  // of two in their slice, who came in last
  EXPECT_LE(script.GpuOf().credit_out, 16 * kGiB);
  EXPECT_EQ(script.CardOf(3).credit, 600 * kMiB);
}

TEST(Admission, NobodyIsAdmittedIfAJobCouldNoLongerRun) {
  Script script;
  script.Newcomer(1, 15 * kGiB);
  script.Want(1);
  script.Join(2, 2);
  script.scheduler().ContextWanted(script.now(), 2, Script::kGpu);
  script.Obey();
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);  // 16 - 15 - 0.5 GiB are enough for one more
  script.FinishContext(2);
  script.Join(3, 3);
  script.scheduler().ContextWanted(script.now(), 3, Script::kGpu);
  script.Wait(seconds(1000));
  EXPECT_EQ(script.All<AdmitContext>().size(), 2u);
  EXPECT_EQ(script.JobOf(3).state, JobState::kQueued);
  EXPECT_EQ(script.JobOf(3).why, WaitReason::kGpuMemory);
  script.Leave(2);
  EXPECT_EQ(script.All<AdmitContext>().size(), 3u);
}

TEST(Admission, AContextThatNoWaitingWillMakeRoomForIsLeftToTheDriver) {
  Script script;
  script.Newcomer(1, 15 * kGiB + 256 * kMiB);
  script.Want(1);
  script.Join(2, 1);  // the same job
  script.scheduler().ContextWanted(script.now(), 2, Script::kGpu);
  script.Obey();
  ASSERT_EQ(script.All<AdmitContext>().size(), 2u);
  EXPECT_EQ(script.All<AdmitContext>()[1].credit, 256 * kMiB);
}

TEST(Admission, NoMoreJobsRotateThanMaxWaitAllows) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(45);  // slices of 12.9 s, and handovers of 0.64 s
  Script script(config);
  for (ClientId client : {1, 2, 3, 4, 5}) {
    script.Newcomer(client, 12 * kGiB);
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

TEST(Admission, AgeingLetsAQueuedJobInAlthoughTheOthersNeverEnd) {
  Config config = Script::DefaultConfig();
  config.max_wait = seconds(30);
  Script script(config);
  for (ClientId client : {1, 2, 3, 4, 5}) {
    script.Newcomer(client, 12 * kGiB);
    script.Want(client);
  }
  script.hold_gates = true;
  std::set<ClientId> ran;
  for (int second = 0; second < 400; ++second) {
    for (ClientId client : {1, 2, 3, 4, 5}) {
      if (script.Open(client)) ran.insert(client);
      if (!script.IsClosing(client)) continue;
      script.Want(client);  // a thread comes to the gate before it has closed
      script.CloseHeldGate(client);
    }
    script.Wait(seconds(1));
  }
  EXPECT_EQ(ran.size(), 5u);
}

// The driver would refuse what a program that is about to end still holds.
TEST(Admission, AContextWaitsForMemoryOfAProcessThatEnds) {
  Script script;
  script.SetExternal(16 * kGiB - 64 * kMiB);
  script.Join(1, 1);
  script.scheduler().ContextWanted(script.now(), 1, Script::kGpu);
  script.Wait(seconds(20));
  EXPECT_TRUE(script.All<AdmitContext>().empty());
  script.SetExternal(0);
  ASSERT_EQ(script.All<AdmitContext>().size(), 1u);
  EXPECT_EQ(script.All<AdmitContext>()[0].credit, Script::DefaultConfig().context_estimate);
}

TEST(Admission, AContextDoesNotWaitForAProcessOutsideThatStays) {
  Script script;
  script.SetExternal(16 * kGiB - 64 * kMiB);
  script.Join(1, 1);
  script.scheduler().ContextWanted(script.now(), 1, Script::kGpu);
  script.Wait(seconds(31));
  ASSERT_EQ(script.All<AdmitContext>().size(), 1u);
  EXPECT_EQ(script.All<AdmitContext>()[0].credit, 64 * kMiB);
}

}  // namespace
}  // namespace reveza::scheduler
