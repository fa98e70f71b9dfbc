#include "daemon/why.h"

#include <gtest/gtest.h>

#include "wire/messages.h"

namespace reveza::daemon {
namespace {

using scheduler::JobView;
using scheduler::WaitReason;
using std::chrono::milliseconds;
using std::chrono::seconds;

JobView Waiting(WaitReason why) {
  JobView job;
  job.state = scheduler::JobState::kWaiting;
  job.why = why;
  return job;
}

TEST(WhyText, NamesWhoIsInTheWayAndForHowLong) {
  JobView blocker;
  blocker.slice_ends = seconds(10) + milliseconds(1200);
  WhyWorld world;
  world.now = seconds(10);
  EXPECT_EQ(WhyText(Waiting(WaitReason::kTurn), world), "waiting for its turn");
  world.blocker = &blocker;
  world.blocker_name = "train-a (pid 123)";
  EXPECT_EQ(WhyText(Waiting(WaitReason::kTurn), world),
            "waiting for its turn: train-a (pid 123) has the GPU for 1.2 s more");
  world.now = seconds(12);
  EXPECT_EQ(WhyText(Waiting(WaitReason::kTurn), world),
            "waiting for its turn: train-a (pid 123) has the GPU");
}

TEST(WhyText, HasALineForEachReason) {
  WhyWorld world;
  world.need = 12 * kGiB;
  world.budget = 24 * kGiB;
  world.host_free = kGiB;
  world.host_budget = 40 * kGiB;
  world.rotating = 6;
  world.max_wait = seconds(120);
  EXPECT_EQ(WhyText(Waiting(WaitReason::kNone), world), "");
  EXPECT_EQ(WhyText(Waiting(WaitReason::kContext), world),
            "waiting to start on the GPU: another program is starting there");
  EXPECT_EQ(WhyText(Waiting(WaitReason::kGpuMemory), world),
            "waiting for GPU memory: it needs 12 GiB of 24 GiB, and memory of others that cannot "
            "be moved is in the way");
  EXPECT_EQ(WhyText(Waiting(WaitReason::kHostMemory), world),
            "waiting for host memory: 1 GiB of 40 GiB are left to swap others into; a larger "
            "--host-budget would help");
  EXPECT_EQ(WhyText(Waiting(WaitReason::kQueue), world),
            "queued: 6 programs take turns already, as many as a wait of 2 min 0 s allows");
  world.blocker_name = "spin (pid 7)";
  EXPECT_EQ(WhyText(Waiting(WaitReason::kUnpreemptible), world),
            "waiting for spin (pid 7), whose work on the GPU does not end; tried again soon");
  for (int why = 0; why <= static_cast<int>(WaitReason::kQueue); ++why) {
    EXPECT_LT(WhyText(Waiting(static_cast<WaitReason>(why)), world).size(),
              sizeof(wire::Why::text));
  }
}

}  // namespace
}  // namespace reveza::daemon
