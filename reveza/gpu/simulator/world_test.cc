#include "reveza/gpu/simulator/world.h"

#include <gtest/gtest.h>

#include "reveza/gpu/simulator/client.h"

namespace reveza::simulator {
namespace world_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

WorldConfig OneGpu() {
  WorldConfig config;
  config.budgets = {4 * kGiB};
  config.link_bandwidth = 1e9;
  config.scheduler.host_budget = 64 * kGiB;
  return config;
}

TEST(World, RunsActionsInTimeOrder) {
  World world(OneGpu());
  std::vector<int> order;
  world.Schedule(milliseconds(2), [&] { order.push_back(2); });
  world.Schedule(milliseconds(1), [&] {
    order.push_back(1);
    world.Schedule(milliseconds(0), [&] { order.push_back(10); });  // times in the past run now
  });
  world.Schedule(milliseconds(2), [&] { order.push_back(3); });
  world.Run(seconds(1));
  EXPECT_EQ(order, (std::vector<int>{1, 10, 2, 3}));
  EXPECT_EQ(world.now(), milliseconds(2));
}

TEST(World, LinkDirectionsAreIndependentAndSerial) {
  World world(OneGpu());
  EXPECT_EQ(world.Copy(0, Direction::kOut, 500'000'000), milliseconds(500));
  EXPECT_EQ(world.Copy(0, Direction::kOut, 500'000'000), milliseconds(1000));
  EXPECT_EQ(world.Copy(0, Direction::kIn, 100'000'000), milliseconds(100));
  EXPECT_EQ(world.bytes_moved(), 1'100'000'000u);
}

TEST(World, PreservesMessageOrderPerClient) {
  World world(OneGpu());
  std::vector<int> order;
  for (int i = 0; i < 20; ++i) {
    world.Send(1, EventKind::kOther,
               [&order, i](scheduler::Scheduler&, Time) { order.push_back(i); });
  }
  world.Run(seconds(1));
  ASSERT_EQ(order.size(), 20u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(World, KilledClientStops) {
  World world(OneGpu());
  Plan plan;
  plan.gpus = {0};
  plan.footprint = plan.max_footprint = kGiB;
  plan.work = seconds(10);
  world.Start(Time(0), 1, plan);
  world.KillAt(seconds(1), 1);
  world.Run(seconds(5));
  EXPECT_EQ(world.Find(1), nullptr);
  EXPECT_TRUE(world.scheduler().Jobs().empty());
  EXPECT_EQ(world.scheduler().Gpus()[0].outstanding_credit, 0u);
  EXPECT_LT(world.now(), seconds(2));
}

TEST(World, RestartedDaemonAdoptsRunningClients) {
  World world(OneGpu());
  Plan plan;
  plan.gpus = {0};
  plan.footprint = plan.max_footprint = 3 * kGiB;
  plan.work = seconds(8);
  world.Start(Time(0), 1, plan);
  world.Start(Time(0), 2, plan);
  for (int second = 1; second < 20; second += 2) world.RestartDaemonAt(seconds(second));
  world.Run(seconds(200));
  EXPECT_TRUE(world.checker().ok()) << world.checker().failure();
  EXPECT_TRUE(world.clients().empty());
}

}  // namespace world_test
}  // namespace reveza::simulator
