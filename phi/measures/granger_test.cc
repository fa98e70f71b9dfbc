#include "phi/measures/granger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "phi/measures/measures.h"
#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace granger_test {

TEST(GrangerTest, OneDirectionByHand) {
  // y = 0.5 x(t-1) + 0.5 y(t-1) + e: var(Y | own past) from the stationary covariance.
  const Matrix coupling = {{.5, 0}, {.5, .5}};
  const auto model = GaussianModel::FromCoupling(coupling, Matrix::Identity(2));
  const Matrix covariance = *StationaryCovariance(coupling, Matrix::Identity(2));
  const double lagged = .5 * covariance(0, 1) + .5 * covariance(1, 1);
  const double left = covariance(1, 1) - lagged * lagged / covariance(1, 1);
  for (const GrangerKind kind : {GrangerKind::kPair, GrangerKind::kConditional}) {
    const Granger granger = GrangerOf(*model, kind, 1000);
    EXPECT_NEAR(granger.causality(0, 1), std::log(left / 1.0), 1e-12);
    EXPECT_NEAR(granger.causality(1, 0), 0.0, 1e-12);
    EXPECT_LT((*granger.p)(0, 1), 1e-9);
    EXPECT_GT((*granger.p)(1, 0), 0.99);
    EXPECT_EQ(granger.causality(0, 0), 0.0);
  }
  EXPECT_FALSE(GrangerOf(*model, GrangerKind::kPair, std::nullopt).p);
  // Uncorrelated noise, one direction: phi_g = si = transfer entropy.
  const double entropy =
      TransferEntropyOf(GrangerOf(*model, GrangerKind::kPair, 1000).causality(0, 1));
  EXPECT_NEAR(*Evaluate(*model, *AtomicPartition(2), Measure::kPhiG), entropy, 1e-10);
  EXPECT_NEAR(*Evaluate(*model, *AtomicPartition(2), Measure::kStochasticInteraction), entropy,
              1e-12);
}

TEST(GrangerTest, ConditionalCausalityDropsIndirectLinks) {
  // 0 drives 1 drives 2; x has memory, so that its older past is known to the one it drives.
  const Matrix coupling = {{.8, 0, 0}, {.7, 0, 0}, {0, .7, .2}};
  const auto model = GaussianModel::FromCoupling(coupling, Matrix::Identity(3));
  const Granger pair = GrangerOf(*model, GrangerKind::kPair, 1000);
  const Granger conditional = GrangerOf(*model, GrangerKind::kConditional, 1000);
  EXPECT_GT(pair.causality(0, 2), 0.01);
  EXPECT_NEAR(conditional.causality(0, 2), 0.0, 1e-12);
  EXPECT_GT(conditional.causality(1, 2), 0.1);
}

TEST(GrangerTest, PIsAdjustedOverAllPairs) {
  const Matrix coupling = {{.8, 0, 0}, {.3, 0, 0}, {0, .1, .2}};
  const auto model = GaussianModel::FromCoupling(coupling, Matrix::Identity(3));
  const Granger granger = GrangerOf(*model, GrangerKind::kConditional, 300);
  double least = 1.0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*granger.q)(i, i), 1.0);
    for (int j = 0; j < 3; ++j) {
      EXPECT_GE((*granger.q)(i, j), (*granger.p)(i, j));
      least = std::min(least, (*granger.p)(i, j));
    }
  }
  EXPECT_EQ((*granger.p)(0, 1), least);
  EXPECT_NEAR((*granger.q)(0, 1), 6 * least, 1e-15);
}

TEST(GrangerTest, ConditionalCausalityDropsCommonDrive) {
  const Matrix coupling = {{.8, 0, 0}, {.7, .1, 0}, {.7, 0, .1}};
  const auto model = GaussianModel::FromCoupling(coupling, Matrix::Identity(3));
  EXPECT_GT(GrangerOf(*model, GrangerKind::kPair, 100).causality(1, 2), 0.01);
  EXPECT_NEAR(GrangerOf(*model, GrangerKind::kConditional, 100).causality(1, 2), 0.0, 1e-12);
}

}  // namespace granger_test
}  // namespace reveza::phi
