#include "common/base/chi_square.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reveza {
namespace chi_square_test {

TEST(ChiSquareTail, MatchesPublishedTables) {
  EXPECT_NEAR(ChiSquareTail(3.841458820694124, 1), 0.05, 1e-14);
  EXPECT_NEAR(ChiSquareTail(18.307038053275146, 10), 0.05, 1e-14);
  EXPECT_NEAR(ChiSquareTail(124.342, 100), 0.05, 1e-6);
  EXPECT_NEAR(ChiSquareTail(77.929, 100), 0.95, 1e-5);
  EXPECT_NEAR(ChiSquareTail(29.588, 10), 0.001, 1e-6);
  EXPECT_NEAR(ChiSquareTail(2.0, 2), std::exp(-1.0), 1e-14);
}

TEST(ChiSquareTail, HandlesExtremes) {
  EXPECT_EQ(ChiSquareTail(0, 10), 1);
  EXPECT_EQ(ChiSquareTail(-1, 10), 1);
  EXPECT_EQ(ChiSquareTail(5, 0), 1);
  EXPECT_LT(ChiSquareTail(1'000, 10), 1e-100);
  EXPECT_GT(ChiSquareTail(1'000, 10), 0);
}

}  // namespace chi_square_test
}  // namespace reveza
