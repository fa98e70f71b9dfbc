#include "phi/discrete/dense_transport.h"

#include <gtest/gtest.h>

#include <vector>

#include "phi/discrete/testing_networks.h"

namespace reveza::phi {
namespace dense_transport_test {

double CostOf(TransportPlan& plan, const std::vector<double>& costs, std::size_t columns) {
  double cost = 0;
  for (const Shipment& shipment : plan.Cheapest()) {
    cost += shipment.amount * costs[shipment.from * columns + shipment.to];
  }
  return cost;
}

TEST(TransportPlanTest, FindsTheCheapestOfTwoPlans) {
  // The greedy plan would leave the second demand to the expensive pair.
  const std::vector<double> costs = {1, 2, 1, 9};
  TransportPlan plan({1, 1}, {1, 1}, costs);
  EXPECT_DOUBLE_EQ(CostOf(plan, costs, 2), 3);
}

TEST(TransportPlanTest, ReplansAfterRaisedCost) {
  std::vector<double> costs = {1, 2, 1, 9};
  TransportPlan plan({1, 1}, {1, 1}, costs);
  EXPECT_DOUBLE_EQ(CostOf(plan, costs, 2), 3);
  costs[1] = 20;
  plan.RaiseCost(0, 1, 20);
  EXPECT_DOUBLE_EQ(CostOf(plan, costs, 2), 10);
}

TEST(TransportPlanTest, RaisedCostsMatchAFreshPlan) {
  TestingNumbers numbers(3);
  constexpr std::size_t kPlaces = 12;
  std::vector<double> supplies, demands, costs;
  for (std::size_t i = 0; i < kPlaces; ++i) supplies.push_back(numbers.Next());
  demands = supplies;
  for (std::size_t i = 0; i < kPlaces * kPlaces; ++i) costs.push_back(numbers.Next());
  TransportPlan plan(supplies, demands, costs);
  for (int round = 0; round < 20; ++round) {
    for (const Shipment& shipment : plan.Cheapest()) {
      if (numbers.Next() < 0.5) continue;
      double& cost = costs[shipment.from * kPlaces + shipment.to];
      cost += numbers.Next();
      plan.RaiseCost(shipment.from, shipment.to, cost);
    }
    TransportPlan anew(supplies, demands, costs);
    EXPECT_NEAR(CostOf(plan, costs, kPlaces), CostOf(anew, costs, kPlaces), 1e-10);
  }
}

}  // namespace dense_transport_test
}  // namespace reveza::phi
