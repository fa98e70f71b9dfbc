#include "reveza/gpu/daemon/clients.h"

#include <gtest/gtest.h>

#include "reveza/gpu/wire/messages.h"

namespace reveza::daemon {
namespace clients_test {

using scheduler::JobView;
using scheduler::WaitReason;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ProgramName, UsesScriptNameForInterpreters) {
  EXPECT_EQ(ProgramName("/usr/bin/sleep 5"), "sleep");
  EXPECT_EQ(ProgramName("/usr/bin/python3 -u jobs/train.py --steps 5"), "train.py");
  EXPECT_EQ(ProgramName("python3.11 -m torch.distributed.run x.py"), "torch.distributed.run");
  EXPECT_EQ(ProgramName("python -c import torch"), "python");
  EXPECT_EQ(ProgramName("bash"), "bash");
  EXPECT_EQ(ProgramName(""), "unnamed");
}

JobView Waiting(WaitReason why) {
  JobView job;
  job.state = scheduler::JobState::kWaiting;
  job.why = why;
  return job;
}

TEST(WaitReasonText, NamesBlockerAndRemainingTime) {
  JobView blocker;
  blocker.slice_ends = seconds(10) + milliseconds(1200);
  WaitContext context;
  context.now = seconds(10);
  EXPECT_EQ(WaitReasonText(Waiting(WaitReason::kTurn), context), "waiting for its turn");
  context.blocker = &blocker;
  context.blocker_name = "train-a (pid 123)";
  EXPECT_EQ(WaitReasonText(Waiting(WaitReason::kTurn), context),
            "waiting for its turn: train-a (pid 123) has the GPU for 1.2 s more");
  context.now = seconds(12);
  EXPECT_EQ(WaitReasonText(Waiting(WaitReason::kTurn), context),
            "waiting for its turn: train-a (pid 123) has the GPU");
}

TEST(WaitReasonText, HasTextForEachReason) {
  WaitContext context;
  context.need = 12 * kGiB;
  context.budget = 24 * kGiB;
  context.host_free = kGiB;
  context.host_budget = 40 * kGiB;
  context.rotating = 6;
  context.max_wait = seconds(120);
  EXPECT_EQ(WaitReasonText(Waiting(WaitReason::kNone), context), "");
  const auto contains = [&](WaitReason why, const char* fact) {
    return WaitReasonText(Waiting(why), context).contains(fact);
  };
  EXPECT_TRUE(contains(WaitReason::kContext, "another program"));
  EXPECT_TRUE(contains(WaitReason::kGpuMemory, "12 GiB of 24 GiB"));
  EXPECT_TRUE(contains(WaitReason::kHostMemory, "1 GiB of 40 GiB"));
  EXPECT_TRUE(contains(WaitReason::kHostMemory, "--host-budget"));
  EXPECT_TRUE(contains(WaitReason::kQueue, "6 programs"));
  EXPECT_TRUE(contains(WaitReason::kQueue, "2 min 0 s"));
  context.blocker_name = "spin (pid 7)";
  EXPECT_TRUE(contains(WaitReason::kUnpreemptible, "spin (pid 7)"));
  for (int why = 0; why <= static_cast<int>(WaitReason::kUnresponsive); ++why) {
    EXPECT_LT(WaitReasonText(Waiting(static_cast<WaitReason>(why)), context).size(),
              sizeof(wire::WaitMessage::text));
  }
}

}  // namespace clients_test
}  // namespace reveza::daemon
