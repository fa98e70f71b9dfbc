#include <gtest/gtest.h>

#include <set>
#include <string>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace view_test {

TEST(View, ShowsStatesTurnsAndTimes) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  EXPECT_EQ(script.JobOf(1).state, JobState::kIdle);
  script.Wait(seconds(3));
  script.Want(1);
  script.Wait(seconds(2));
  script.AddClient(2, 12 * kGiB);
  script.Want(2);
  const JobView running = script.JobOf(1);
  EXPECT_EQ(running.state, JobState::kRunning);
  EXPECT_EQ(running.turns, 1u);
  EXPECT_EQ(running.ran, seconds(2));
  EXPECT_GT(running.slice_ends, script.now());
  const JobView waiting = script.JobOf(2);
  EXPECT_EQ(waiting.state, JobState::kWaiting);
  EXPECT_EQ(waiting.waiting_since, seconds(5));
  script.hold_evictions = true;
  script.Wait(running.slice_ends - script.now());
  EXPECT_EQ(script.JobOf(2).state, JobState::kEntering);
  const Time ran = script.JobOf(1).ran;
  script.Wait(seconds(1));
  EXPECT_EQ(script.JobOf(1).ran, ran);
}

TEST(View, CountsWaitsByReason) {
  const auto waited = [](const JobView& job, WaitReason reason) {
    return job.waited[static_cast<std::size_t>(reason)];
  };
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.Want(1);
  script.AddClient(2, 12 * kGiB);
  script.Wait(seconds(1));  // it sleeps
  script.Want(2);
  script.hold_evictions = true;
  script.Wait(script.JobOf(1).slice_ends - script.now());
  const Time turn = script.now() - seconds(1);
  script.Wait(seconds(1));
  script.FinishHeldEviction(1);
  ASSERT_EQ(script.JobOf(2).state, JobState::kRunning);
  script.SetPolicy(1, {.paused = true});
  script.Wait(seconds(3));
  script.SetPolicy(1, {});
  EXPECT_EQ(waited(script.JobOf(2), WaitReason::kTurn), turn);
  EXPECT_EQ(waited(script.JobOf(2), WaitReason::kNone), seconds(1));
  EXPECT_EQ(waited(script.JobOf(1), WaitReason::kPaused), seconds(3));
  EXPECT_EQ(waited(script.JobOf(1), WaitReason::kTurn), Time(0));
}

// Lets job 1 hand over to job 2 in 300 ms. Meanwhile client 1 reports an arena of `arena`.
void HandOver(Script& script, Bytes arena) {
  script.hold_gates = true;
  script.hold_evictions = true;
  script.Wait(script.JobOf(1).slice_ends - script.now());
  script.Wait(milliseconds(70));
  script.CloseHeldGate(1);
  script.Wait(milliseconds(230));
  script.scheduler().AccountChanged(script.now(), 1, Script::kGpu, script.CardOf(1).footprint, 0,
                                    arena);
  script.FinishHeldEviction(1);
}

TEST(View, ShowsMeasuredHandover) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.Want(2);
  EXPECT_EQ(script.GpuOf().handover, Time(0));
  HandOver(script, 0);
  EXPECT_TRUE(script.Open(2));
  EXPECT_EQ(script.GpuOf().handover, milliseconds(300));
}

TEST(View, HandoverThatAllocatesHostMemoryIsNoMeasureOfTheNext) {
  Script script;
  script.AddClient(1, 12 * kGiB);
  script.AddClient(2, 12 * kGiB);
  script.Want(1);
  script.Want(2);
  HandOver(script, 12 * kGiB);
  EXPECT_TRUE(script.Open(2));
  EXPECT_EQ(script.GpuOf().handover, Time(0));
  script.hold_gates = script.hold_evictions = false;
  script.Want(1);
  script.Wait(script.JobOf(2).slice_ends - script.now());
  ASSERT_TRUE(script.Open(1));
  script.Want(2);
  HandOver(script, 12 * kGiB);
  EXPECT_TRUE(script.Open(2));
  EXPECT_GT(script.GpuOf().handover, Time(0));
}

TEST(View, EveryStateAndReasonHasText) {
  std::set<std::string> texts;
  for (int state = 0; state <= static_cast<int>(JobState::kLeaving); ++state) {
    texts.insert(ToText(static_cast<JobState>(state)));
  }
  for (int reason = 0; reason <= static_cast<int>(WaitReason::kUnresponsive); ++reason) {
    texts.insert(ToText(static_cast<WaitReason>(reason)));
  }
  EXPECT_EQ(texts.size(), 14u);
  EXPECT_FALSE(texts.contains("unknown"));
}

}  // namespace view_test
}  // namespace reveza::scheduler
