#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen {
namespace normal_test {

constexpr double kUnit = 65536;

double Probability(double quantile) { return 0.5 * std::erfc(-quantile / std::sqrt(2.0)); }

TEST(Normal, TableMatchesErfc) {
  for (uint64_t k = 0; k < 512; ++k) {
    const uint64_t bits = k << 54;
    EXPECT_NEAR(Probability(NormalOf(bits) / kUnit), 0.5 + k / 1024.0, 4e-6) << k;
    EXPECT_EQ(NormalOf(bits | uint64_t{1} << 63), -NormalOf(bits)) << k;
  }
}

TEST(Normal, IsMonotonicUpToFourDeviations) {
  EXPECT_EQ(NormalOf(0), 0);
  int64_t before = -1;
  for (uint64_t i = 0; i < 1 << 14; ++i) {
    const int64_t value = NormalOf(i << 49);
    EXPECT_GE(value, before);
    before = value;
  }
  const int64_t end = NormalOf((uint64_t{1} << 63) - 1);
  EXPECT_LT(end, 4 * kUnit);
  EXPECT_GT(end, 3.99 * kUnit);
}

TEST(Normal, HasZeroMeanAndUnitVariance) {
  constexpr int kRows = 200'000;
  const FieldRandom random(11, 0, 0);
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (uint64_t row = 0; row < kRows; ++row) {
    const double value = NormalOf(random.Bits(row)) / kUnit;
    sum += value;
    squares += value * value;
    beyond_two += std::abs(value) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kRows, 0, 0.012);
  EXPECT_NEAR(squares / kRows, 1, 0.015);
  EXPECT_NEAR(beyond_two / double{kRows}, 2 * Probability(-2), 0.0025);
}

TEST(ClampedNormal, RoundsAndClamps) {
  const uint64_t one_up = uint64_t{350} << 54;  // quantile 0.8418: 1.0019
  EXPECT_EQ(ClampedNormal(one_up, 100, 50, 0, 1000), 150);
  EXPECT_EQ(ClampedNormal(one_up | uint64_t{1} << 63, 100, 50, 0, 1000), 50);
  EXPECT_EQ(ClampedNormal(one_up, 100, 50, 0, 140), 140);
  EXPECT_EQ(ClampedNormal(one_up | uint64_t{1} << 63, 100, 50, 60, 140), 60);
  EXPECT_EQ(ClampedNormal(0, 100, 50, 0, 1000), 100);
  const int64_t large = int64_t{1} << 40;
  EXPECT_GT(ClampedNormal((uint64_t{1} << 63) - 1, large, large, 0, 9 * large), 4.9 * large);
}

}  // namespace normal_test
}  // namespace reveza::fraudgen
