#include "fraudgen/model/coherent/frauds.h"

#include <gtest/gtest.h>

#include <array>

namespace reveza::fraudgen::coherent {
namespace frauds_test {

Parameters Blocks(uint64_t rows, uint64_t customers, uint64_t per_block, uint64_t frauds) {
  Parameters parameters;
  parameters.rows = rows;
  parameters.customers = customers;
  parameters.rows_per_block = per_block;
  parameters.frauds = {.billionths = frauds};
  return parameters;
}

TEST(FraudPlanner, PlansExactlyTheFraudsOfTheBlock) {
  for (const Parameters& parameters :
       {Blocks(30'000, 1'000, 10'000, 20'000'000), Blocks(30'000, 1'000, 7'000, 500'000'000),
        Blocks(30'000, 1'000, 30'000, 70'000), Blocks(1'000, 10, 100, 100'000'000),
        Blocks(1'000, 1, 1'000, 20'000'000), Blocks(1'000, 1'000, 1'000, 0),
        Blocks(100, 1'000, 50, 500'000'000)}) {
    const World world(parameters);
    const Chains chains(world);
    for (uint64_t block = 0; block < world.blocks(); ++block) {
      const std::vector<FraudPlan> plans = FraudPlanner(world, chains, block).Plan();
      EXPECT_EQ(plans.size(), world.Frauds(block));
      for (std::size_t i = 0; i < plans.size(); ++i) {
        const FraudPlan& plan = plans[i];
        EXPECT_GE(plan.time, world.begin());
        EXPECT_LT(plan.time, world.end());
        EXPECT_LT(plan.customer, world.Customers(block));
        EXPECT_GT(plan.amount, 0);
        if (i > 0) {
          EXPECT_LE(plans[i - 1].time, plan.time);
        }
        EXPECT_EQ(HasReceiver(plan.kind), plan.receiver != kNoAccount);
        const Person person = world.PersonOf(world.FirstCustomer(block) + plan.customer);
        EXPECT_GE(plan.time, person.opened_at) << "before the account was opened";
      }
    }
  }
}

TEST(FraudPlanner, KindsFollowTheWeights) {
  const World world(Blocks(100'000, 1'500, 100'000, 100'000'000));
  const Chains chains(world);
  const std::vector<FraudPlan> plans = FraudPlanner(world, chains, 0).Plan();
  ASSERT_EQ(plans.size(), 10'000u);
  const std::vector<Scenario>& scenarios = world.parameters().scenarios;
  std::vector<uint64_t> counts(scenarios.size());
  uint64_t chained = 0;
  for (const FraudPlan& plan : plans) {
    ++counts[plan.scenario];
    chained += plan.IsCertain() ? 1 : 0;
  }
  EXPECT_GT(chained, 1'500u);
  EXPECT_LE(chained, 5'000u) << "chains are at most half";
  uint64_t weights = 0;
  for (const Scenario& scenario : scenarios) weights += scenario.weight;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(counts[i]),
                static_cast<double>(scenarios[i].weight * 10'000) / static_cast<double>(weights), 4)
        << scenarios[i].name;
  }
}

TEST(FraudPlanner, TakeoversUseOneNewDeviceAndStartWithTests) {
  const World world(Blocks(100'000, 1'500, 100'000, 100'000'000));
  const Chains chains(world);
  int tests = 0;
  for (const FraudPlan& plan : FraudPlanner(world, chains, 0).Plan()) {
    const Scenario& scenario = world.parameters().scenarios[plan.scenario];
    if (plan.role == FraudRole::kTest) {
      ++tests;
      EXPECT_LE(plan.amount, 1'500);
    }
    if (plan.role == FraudRole::kTakeover && scenario.device == DeviceUse::kFraudster) {
      EXPECT_TRUE(plan.HasDevice());
    }
    if (plan.role == FraudRole::kVictim) {
      EXPECT_FALSE(plan.HasDevice());
    }
  }
  EXPECT_GT(tests, 300);
}

}  // namespace frauds_test
}  // namespace reveza::fraudgen::coherent
