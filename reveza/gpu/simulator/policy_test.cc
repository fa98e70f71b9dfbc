// What jobs get of the GPU over a minute, by their policies.
#include <gtest/gtest.h>

#include <cmath>

#include "reveza/gpu/simulator/scenario.h"

namespace reveza::simulator {
namespace policy_test {

using scheduler::Policy;
using std::chrono::milliseconds;
using std::chrono::seconds;

class PolicyTest : public testing::Test {
 protected:
  PolicyTest() {
    config_.budgets = {3 * kGiB};
    config_.link_bandwidth = 50e9;
    config_.scheduler.host_budget = 256 * kGiB;
  }

  // Adds a busy job that never ends.
  Plan Busy(Bytes footprint, const Policy& policy = {}) {
    Plan plan;
    plan.gpus = {0};
    plan.context = 128 * kMiB;
    plan.footprint = plan.max_footprint = footprint;
    plan.work = std::chrono::hours(10);
    plan.step = milliseconds(10);
    plan.policy = policy;
    return plan;
  }

  // Runs the plans as jobs 1, 2, ... and returns the GPU time of each.
  std::vector<double> Run(const std::vector<Plan>& plans, Time duration) {
    World world(config_);
    for (std::size_t i = 0; i < plans.size(); ++i) world.Start(Time(0), i + 1, plans[i]);
    world.Run(duration);
    EXPECT_TRUE(world.checker().ok()) << world.checker().failure();
    std::vector<double> ran;
    for (const auto& job : world.scheduler().Jobs()) {
      ran.push_back(std::chrono::duration<double>(job.ran).count());
    }
    EXPECT_EQ(ran.size(), plans.size());
    return ran;
  }

  static void ExpectShares(const std::vector<double>& ran, const std::vector<double>& weights) {
    double sum = 0;
    double all = 0;
    for (const double one : ran) sum += one;
    for (const double one : weights) all += one;
    for (std::size_t i = 0; i < ran.size(); ++i) {
      EXPECT_NEAR(ran[i] / sum, weights[i] / all, 0.02) << "job " << i + 1;
    }
  }

  WorldConfig config_;
};

TEST_F(PolicyTest, EqualSizesGetTimeByWeight) {
  std::vector<Plan> plans;
  for (const double weight : {1, 2, 4}) plans.push_back(Busy(2 * kGiB, {.weight = weight}));
  ExpectShares(Run(plans, seconds(60)), {1, 2, 4});
}

TEST_F(PolicyTest, UnequalSizesGetTimeByWeight) {
  const Bytes sizes[] = {1600 * kMiB, 2500 * kMiB, 2 * kGiB};
  std::vector<Plan> plans;
  for (int i = 0; i < 3; ++i) plans.push_back(Busy(sizes[i], {.weight = std::exp2(i)}));
  ExpectShares(Run(plans, seconds(60)), {1, 2, 4});
}

TEST_F(PolicyTest, EqualWeightsGetEqualTime) {
  ExpectShares(Run({Busy(2 * kGiB), Busy(1600 * kMiB), Busy(2500 * kMiB)}, seconds(60)), {1, 1, 1});
}

}  // namespace policy_test
}  // namespace reveza::simulator
