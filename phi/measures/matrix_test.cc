#include "phi/measures/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace matrix_test {

TEST(MatrixTest, CholeskyOfAKnownMatrix) {
  const Matrix matrix = {{4, 12, -16}, {12, 37, -43}, {-16, -43, 98}};
  const auto lower = Cholesky(matrix);
  ASSERT_TRUE(lower);
  EXPECT_EQ(*lower, (Matrix{{2, 0, 0}, {6, 1, 0}, {-8, 5, 3}}));
  EXPECT_NEAR(LogDeterminantOf(*lower), std::log(36.0), 1e-14);
}

TEST(MatrixTest, CholeskyRejectsIndefiniteMatrices) {
  EXPECT_FALSE(Cholesky({{1, 2}, {2, 1}}));
  EXPECT_FALSE(Cholesky({{1, 1}, {1, 1}}));
  EXPECT_FALSE(Cholesky({{1, 0}, {0, std::nan("")}}));
}

TEST(MatrixTest, SolveInvertsProduct) {
  const TestingSystem system = RandomSystem(7, 3);
  const Matrix product = Product(system.noise, system.coupling);
  const Matrix solved = SolveCholesky(*Cholesky(system.noise), product);
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 7; ++j) EXPECT_NEAR(solved(i, j), system.coupling(i, j), 1e-12);
  }
}

TEST(MatrixTest, EigendecompositionReconstructsTheMatrix) {
  const Matrix noise = RandomSystem(9, 4).noise;
  const Eigen eigen = SymmetricEigen(noise);
  Matrix scaled = eigen.vectors;
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < 9; ++j) scaled(i, j) *= eigen.values[j];
  }
  EXPECT_TRUE(std::ranges::is_sorted(eigen.values));
  const Matrix again = ProductTransposed(scaled, eigen.vectors);
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < 9; ++j) EXPECT_NEAR(again(i, j), noise(i, j), 1e-12);
  }
}

TEST(MatrixTest, EigenvaluesOfTwoByTwo) {
  const Eigen eigen = SymmetricEigen({{2, 1}, {1, 2}});
  EXPECT_NEAR(eigen.values[0], 1.0, 1e-15);
  EXPECT_NEAR(eigen.values[1], 3.0, 1e-15);
}

}  // namespace matrix_test
}  // namespace reveza::phi
