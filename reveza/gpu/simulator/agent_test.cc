// Sends orders to a simulated client directly.
#include <gtest/gtest.h>

#include "reveza/gpu/simulator/client.h"

namespace reveza::simulator {
namespace agent_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

class AgentTest : public testing::Test {
 protected:
  AgentTest() : world_(Config()) {
    Plan plan;
    plan.gpus = {0};
    plan.footprint = plan.max_footprint = kGiB;
    plan.work = seconds(100);
    world_.Start(Time(0), 1, plan);
    world_.Run(seconds(5));
  }

  static WorldConfig Config() {
    WorldConfig config;
    config.budgets = {4 * kGiB};
    config.scheduler.host_budget = 64 * kGiB;
    // Long enough to inspect the client before the scheduler reacts.
    config.min_latency = config.max_latency = milliseconds(500);
    return config;
  }
  Client& client() { return *world_.Find(1); }

  World world_;
};

TEST_F(AgentTest, EvictingOpenClientFails) {
  EXPECT_TRUE(world_.checker().ok());
  client().Execute(scheduler::Evict{1, 0, 64 * kMiB, 77});
  EXPECT_FALSE(world_.checker().ok());
}

TEST_F(AgentTest, ClosedGateStopsWork) {
  client().Execute(scheduler::CloseGate{1, 77, seconds(2), seconds(2), 0});
  world_.Run(seconds(5) + milliseconds(100));
  const Time worked = client().worked();
  world_.Run(seconds(6));
  EXPECT_EQ(client().worked(), worked);
  EXPECT_STREQ(client().WaitReasonText(), "the gate");
}

TEST_F(AgentTest, EvictionMovesWholePiecesAndReturnsCredit) {
  client().Execute(scheduler::CloseGate{1, 77, seconds(2), seconds(2), 0});
  world_.Run(seconds(5) + milliseconds(100));
  client().Execute(scheduler::Evict{1, 0, 100 * kMiB, 78});
  world_.Run(seconds(5) + milliseconds(200));
  EXPECT_EQ(client().HostUsed(), 128 * kMiB);
  EXPECT_EQ(client().Held(0), kGiB - 128 * kMiB + 16 * kMiB);
  EXPECT_EQ(world_.bytes_moved(), 128 * kMiB);
  EXPECT_TRUE(world_.checker().ok()) << world_.checker().failure();
}

TEST_F(AgentTest, IgnoresStaleOpenGate) {
  client().Execute(scheduler::CloseGate{1, 77, seconds(2), seconds(2), 0});
  world_.Run(seconds(5) + milliseconds(100));
  client().Execute(scheduler::Evict{1, 0, 64 * kMiB, 78});
  world_.Run(seconds(5) + milliseconds(200));
  const Time worked = client().worked();
  client().Execute(scheduler::OpenGate{1, 79});
  world_.Run(seconds(5) + milliseconds(400));
  EXPECT_EQ(client().worked(), worked);
}

}  // namespace agent_test
}  // namespace reveza::simulator
