#include "simulator/client.h"

#include <gtest/gtest.h>

namespace reveza::simulator {
namespace {

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
  plan.footprint = plan.most = bytes;
  plan.work = work;
  return plan;
}

TEST(Client, DoesItsWorkAndLeaves) {
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

TEST(Client, WaitsAtItsGateWhileAnotherIsInTheSlice) {
  World world(OneGpu());
  world.Start(Time(0), 1, Busy(3 * kGiB, seconds(5)));
  world.Start(milliseconds(100), 2, Busy(3 * kGiB, seconds(5)));
  world.Run(milliseconds(400));
  EXPECT_STREQ(world.Find(2)->WaitsFor(), "its gate");
  EXPECT_TRUE(world.Find(2)->WaitingSince());
  EXPECT_EQ(world.Find(2)->worked(), Time(0));
}

TEST(Client, MemoryThatWasNeverUsedIsNotCopied) {
  World world(OneGpu());
  world.Start(Time(0), 1, Busy(3 * kGiB, seconds(1)));
  world.Run(seconds(10));
  EXPECT_TRUE(world.clients().empty());
  EXPECT_EQ(world.moved(), 0u);
}

TEST(Client, WhatGoesOutComesInAgain) {
  World world(OneGpu());
  world.Start(Time(0), 1, Busy(3 * kGiB, seconds(5)));
  world.Start(Time(0), 2, Busy(3 * kGiB, seconds(5)));
  Bytes most = 0;
  for (int step = 1; step < 500; ++step) {
    world.Run(milliseconds(10 * step));
    Bytes held = 0;
    for (const auto& [id, client] : world.clients()) held += client->Held(0);
    most = std::max(most, held);
  }
  EXPECT_LE(most, 4 * kGiB);
  EXPECT_GT(most, 3 * kGiB + kGiB / 2);
  EXPECT_GT(world.Find(1)->HostUsed() + world.Find(2)->HostUsed(), kGiB);
  world.Run(seconds(100));
  EXPECT_TRUE(world.clients().empty());
  EXPECT_TRUE(world.checker().ok()) << world.checker().failure();
}

TEST(Client, AnUndrainableStepOpensTheGateAgainAndOthersStillGetTheirTurn) {
  World world(OneGpu());
  Plan stubborn = Busy(3 * kGiB, seconds(5));
  stubborn.undrainable = 0.2;
  world.Start(Time(0), 1, stubborn);
  world.Start(Time(0), 2, Busy(3 * kGiB, seconds(1)));
  std::uint64_t failed = 0;
  for (int step = 1; step < 3000; ++step) {
    world.Run(milliseconds(100 * step));
    if (const Client* client = world.Find(1)) failed = client->drains_failed();
  }
  EXPECT_GT(failed, 0u);
  EXPECT_TRUE(world.clients().empty());
  EXPECT_TRUE(world.checker().ok()) << world.checker().failure();
}

TEST(Client, ASleepingOneYieldsToOneThatWaits) {
  World world(OneGpu());
  Plan sleepy = Busy(3 * kGiB, seconds(5));
  sleepy.sleeps = 0.5;
  sleepy.sleep = seconds(2);
  world.Start(Time(0), 1, sleepy);
  world.Start(milliseconds(50), 2, Busy(3 * kGiB, seconds(3)));
  world.Run(seconds(12));
  EXPECT_EQ(world.Find(2), nullptr);  // done, although the other is not
  EXPECT_NE(world.Find(1), nullptr);
}

}  // namespace
}  // namespace reveza::simulator
