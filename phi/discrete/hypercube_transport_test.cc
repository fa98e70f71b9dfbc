#include "phi/discrete/hypercube_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "phi/discrete/dense_transport.h"
#include "phi/discrete/testing_networks.h"

namespace reveza::phi {
namespace hypercube_transport_test {

std::vector<double> Distribution(std::size_t states, TestingNumbers& numbers, bool sparse) {
  std::vector<double> values(states);
  double sum = 0;
  for (double& value : values) {
    value = sparse && numbers.Next() < 0.6 ? 0 : numbers.Next() + 1e-3;
    sum += value;
  }
  if (sum == 0) values[0] = sum = 1;
  for (double& value : values) value /= sum;
  return values;
}

// All pairs of states, by another method.
double ByAllPairs(const std::vector<double>& p, const std::vector<double>& q) {
  std::vector<double> costs;
  for (std::size_t a = 0; a < p.size(); ++a) {
    for (std::size_t b = 0; b < q.size(); ++b) costs.push_back(std::popcount(a ^ b));
  }
  TransportPlan plan(p, q, costs);
  double sum = 0;
  for (const Shipment& shipment : plan.Cheapest()) {
    sum += shipment.amount * std::popcount(shipment.from ^ shipment.to);
  }
  return sum;
}

class HypercubeTransportTest : public testing::TestWithParam<int> {};

TEST_P(HypercubeTransportTest, MatchesMinimumCostFlowOverAllPairs) {
  const std::size_t states = std::size_t{1} << GetParam();
  TestingNumbers numbers(static_cast<std::uint64_t>(GetParam()));
  HypercubeTransport transport;
  for (int i = 0; i < (states > 64 ? 3 : 30); ++i) {
    const auto p = Distribution(states, numbers, i % 2 == 1);
    const auto q = Distribution(states, numbers, i % 3 == 1);
    EXPECT_NEAR(transport.Distance(p, q), ByAllPairs(p, q), 1e-10);
  }
}

TEST_P(HypercubeTransportTest, EqualsSumOverNodesForProductDistributions) {
  const int nodes = GetParam();
  TestingNumbers numbers(static_cast<std::uint64_t>(nodes) + 100);
  HypercubeTransport transport;
  std::vector<double> p = {1};
  std::vector<double> q = {1};
  double sum = 0;
  for (int node = 0; node < nodes; ++node) {
    const double on_p = numbers.Next();
    const double on_q = numbers.Next();
    sum += std::abs(on_p - on_q);
    const std::size_t states = p.size();
    for (std::size_t s = 0; s < states; ++s) {
      p.push_back(p[s] * on_p);
      q.push_back(q[s] * on_q);
      p[s] *= 1 - on_p;
      q[s] *= 1 - on_q;
    }
  }
  EXPECT_NEAR(transport.Distance(p, q), sum, 1e-10);
  EXPECT_EQ(transport.Distance(p, p), 0);
}

INSTANTIATE_TEST_SUITE_P(Nodes, HypercubeTransportTest, testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

TEST(HypercubeTransportTest, TransportsBetweenOppositeCorners) {
  std::vector<double> p(64, 0.0);
  std::vector<double> q(64, 0.0);
  p[0] = 1;
  q[63] = 0.25;
  q[1] = 0.75;
  HypercubeTransport transport;
  EXPECT_DOUBLE_EQ(transport.Distance(p, q), 0.25 * 6 + 0.75);
}

}  // namespace hypercube_transport_test
}  // namespace reveza::phi
