// Orders given to a simulated client by hand.
#include <gtest/gtest.h>

#include "simulator/client.h"

namespace reveza::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class AgentTest : public testing::Test {
 protected:
  AgentTest() : world_(Config()) {
    Plan plan;
    plan.gpus = {0};
    plan.footprint = plan.most = kGiB;
    plan.work = seconds(100);
    world_.Start(Time(0), 1, plan);
    world_.Run(seconds(5));
  }

  static WorldConfig Config() {
    WorldConfig config;
    config.budgets = {4 * kGiB};
    config.scheduler.host_budget = 64 * kGiB;
    // Long enough to look before the scheduler hears of it.
    config.shortest_latency = config.longest_latency = milliseconds(500);
    return config;
  }
  Client& client() { return *world_.Find(1); }

  World world_;
};

TEST_F(AgentTest, AnOpenClientMustNotBeEvicted) {
  EXPECT_TRUE(world_.checker().ok());
  client().Obey(scheduler::Evict{1, 0, 64 * kMiB, 77});
  EXPECT_FALSE(world_.checker().ok());
}

TEST_F(AgentTest, AClosedGateStopsTheWork) {
  client().Obey(scheduler::CloseGate{1, 77, seconds(2)});
  world_.Run(seconds(5) + milliseconds(100));
  const Time worked = client().worked();
  world_.Run(seconds(6));
  EXPECT_EQ(client().worked(), worked);
  EXPECT_STREQ(client().WaitsFor(), "its gate");
}

TEST_F(AgentTest, AnEvictionMovesWholePiecesAndReturnsTheirCredit) {
  client().Obey(scheduler::CloseGate{1, 77, seconds(2)});
  world_.Run(seconds(5) + milliseconds(100));
  client().Obey(scheduler::Evict{1, 0, 100 * kMiB, 78});
  world_.Run(seconds(5) + milliseconds(200));
  EXPECT_EQ(client().HostUsed(), 128 * kMiB);
  EXPECT_EQ(client().Held(0), kGiB - 128 * kMiB + 16 * kMiB);
  EXPECT_EQ(world_.moved(), 128 * kMiB);
  EXPECT_TRUE(world_.checker().ok()) << world_.checker().failure();
}

TEST_F(AgentTest, AStaleOpenGateIsIgnored) {
  client().Obey(scheduler::CloseGate{1, 77, seconds(2)});
  world_.Run(seconds(5) + milliseconds(100));
  client().Obey(scheduler::Evict{1, 0, 64 * kMiB, 78});
  world_.Run(seconds(5) + milliseconds(200));
  const Time worked = client().worked();
  client().Obey(scheduler::OpenGate{1, 79});
  world_.Run(seconds(5) + milliseconds(400));
  EXPECT_EQ(client().worked(), worked);
}

}  // namespace
}  // namespace reveza::simulator
