#include "reveza/gpu/simulator/client.h"

#include <gtest/gtest.h>

namespace reveza::simulator {
namespace client_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

WorldConfig OneGpu() {
  WorldConfig config;
  config.budgets = {4 * kGiB};
  config.scheduler.host_budget = 64 * kGiB;
  config.scheduler.slice_ceiling = seconds(1);
  return config;
}

Plan Busy(Bytes bytes, Time work) {
  Plan plan;
  plan.gpus = {0};
  plan.footprint = plan.max_footprint = bytes;
  plan.work = work;
  return plan;
}

TEST(Client, FinishesItsWorkAndExits) {
  World world(OneGpu());
  world.Start(Time(0), 1, Busy(kGiB, seconds(2)));
  world.Run(seconds(1));
  ASSERT_NE(world.Find(1), nullptr);
  EXPECT_GT(world.Find(1)->worked(), milliseconds(500));
  EXPECT_EQ(world.Find(1)->Held(0), kGiB + 16 * kMiB);
  world.Run(seconds(10));
  EXPECT_EQ(world.Find(1), nullptr);
  EXPECT_TRUE(world.checker().ok()) << world.checker().failure();
}

TEST(Client, WaitsAtGateDuringSliceOfOther) {
  World world(OneGpu());
  world.Start(Time(0), 1, Busy(3 * kGiB, seconds(5)));
  world.Start(milliseconds(100), 2, Busy(3 * kGiB, seconds(5)));
  world.Run(milliseconds(400));
  EXPECT_STREQ(world.Find(2)->WaitReasonText(), "the gate");
  EXPECT_TRUE(world.Find(2)->WaitingSince());
  EXPECT_EQ(world.Find(2)->worked(), Time(0));
}

TEST(Client, NeverWrittenMemoryIsNotCopied) {
  World world(OneGpu());
  world.Start(Time(0), 1, Busy(3 * kGiB, seconds(1)));
  world.Run(seconds(10));
  EXPECT_TRUE(world.clients().empty());
  EXPECT_EQ(world.bytes_moved(), 0u);
}

TEST(Client, EvictedMemoryReturns) {
  World world(OneGpu());
  world.Start(Time(0), 1, Busy(3 * kGiB, seconds(5)));
  world.Start(Time(0), 2, Busy(3 * kGiB, seconds(5)));
  Bytes max_footprint = 0;
  for (int step = 1; step < 500; ++step) {
    world.Run(milliseconds(10 * step));
    Bytes held = 0;
    for (const auto& [id, client] : world.clients()) held += client->Held(0);
    max_footprint = std::max(max_footprint, held);
  }
  EXPECT_LE(max_footprint, 4 * kGiB);
  EXPECT_GT(max_footprint, 3 * kGiB + kGiB / 2);
  EXPECT_GT(world.Find(1)->HostUsed() + world.Find(2)->HostUsed(), kGiB);
  world.Run(seconds(100));
  EXPECT_TRUE(world.clients().empty());
  EXPECT_TRUE(world.checker().ok()) << world.checker().failure();
}

TEST(Client, UndrainableStepReopensGateWithoutStarvation) {
  World world(OneGpu());
  Plan stuck_plan = Busy(3 * kGiB, seconds(5));
  stuck_plan.stuck_probability = 0.2;
  world.Start(Time(0), 1, stuck_plan);
  world.Start(Time(0), 2, Busy(3 * kGiB, seconds(1)));
  std::uint64_t failed = 0;
  for (int step = 1; step < 3000; ++step) {
    world.Run(milliseconds(100 * step));
    if (const Client* client = world.Find(1)) failed = client->failed_drains();
  }
  EXPECT_GT(failed, 0u);
  EXPECT_TRUE(world.clients().empty());
  EXPECT_TRUE(world.checker().ok()) << world.checker().failure();
}

TEST(Client, SleepingClientYieldsToWaiter) {
  World world(OneGpu());
  Plan sleeping_plan = Busy(3 * kGiB, seconds(5));
  sleeping_plan.sleep_probability = 0.5;
  sleeping_plan.sleep_time = seconds(2);
  world.Start(Time(0), 1, sleeping_plan);
  world.Start(milliseconds(50), 2, Busy(3 * kGiB, seconds(3)));
  world.Run(seconds(12));
  EXPECT_EQ(world.Find(2), nullptr);  // finished before the other
  EXPECT_NE(world.Find(1), nullptr);
}

}  // namespace client_test
}  // namespace reveza::simulator
