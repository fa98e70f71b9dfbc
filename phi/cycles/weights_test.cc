#include "phi/cycles/weights.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reveza::phi {
namespace weights_test {

TEST(Weights, StrengthsAreQuantilesOfTheQuarterCircleLaw) {
  constexpr int kDimension = 768;
  for (const int index : {0, 1, 31, 300, 767}) {
    const double s = StrengthOf(index, kDimension) / std::sqrt(768.0);
    // The upper tail of the law at s.
    const double beyond = 1 - (s / 2 * std::sqrt(4 - s * s) + 2 * std::asin(s / 2)) / M_PI;
    EXPECT_NEAR(beyond, (index + 0.5) / kDimension, 1e-12) << index;
  }
}

TEST(Weights, TheBasisIsOrthonormal) {
  const CycleWeights weights = MakeWeights(1, 100, SupportedInstructions());
  ASSERT_EQ(weights.basis.inputs(), 32);
  for (int a = 0; a < 32; ++a) {
    for (int b = 0; b <= a; ++b) {
      double sum = 0;
      for (int k = 0; k < 100; ++k) sum += double{weights.basis.At(k, a)} * weights.basis.At(k, b);
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-6);
    }
    for (int k = 0; k < 100; ++k) {
      EXPECT_EQ(weights.basis.At(k, a), weights.basis_transposed.At(a, k));
    }
  }
}

TEST(Weights, HaveTheDocumentedSpread) {
  const CycleWeights weights = MakeWeights(1, 200, SupportedInstructions());
  double square = 0;
  for (int o = 0; o < 200; ++o) {
    for (int k = 0; k < 200; ++k) {
      square += std::pow(double{weights.unconscious_to_conscious.At(o, k)}, 2);
    }
  }
  EXPECT_NEAR(square / 40'000, 0.01, 5 * 0.01 * std::sqrt(2.0 / 40'000));
  const PackedMatrix& first = weights.perceptron[0].weights;
  const double limit = 1 / std::sqrt(200.0);
  double max = 0;
  square = 0;
  for (int o = 0; o < 128; ++o) {
    for (int k = 0; k < 200; ++k) {
      max = std::max(max, std::abs(double{first.At(o, k)}));
      square += std::pow(double{first.At(o, k)}, 2);
    }
  }
  EXPECT_LE(max, limit * 1.000001);
  EXPECT_GT(max, limit * 0.99);
  EXPECT_NEAR(square / (128 * 200), limit * limit / 3, limit * limit * 0.01);
}

TEST(Weights, DoNotDependOnKernel) {
  const CycleWeights plain = MakeWeights(5, 70, Instructions::kPlain);
  const CycleWeights here = MakeWeights(5, 70, SupportedInstructions());
  for (int o = 0; o < 70; ++o) {
    for (int k = 0; k < 70; ++k) {
      ASSERT_EQ(plain.preconscious_to_conscious.At(o, k), here.preconscious_to_conscious.At(o, k));
    }
  }
  EXPECT_EQ(plain.strengths, here.strengths);
}

}  // namespace weights_test
}  // namespace reveza::phi
