#include "fraudgen/check/statistics.h"

#include <gtest/gtest.h>

#include <array>

namespace reveza::fraudgen::check {
namespace statistics_test {

TEST(Statistics, ChiSquareOfCounts) {
  constexpr std::array<uint32_t, 3> kWeights = {50, 30, 20};
  const Goodness exact = ChiSquare(std::array<uint64_t, 3>{500, 300, 200}, kWeights);
  EXPECT_EQ(exact.statistic, 0);
  EXPECT_EQ(exact.degrees, 2);
  EXPECT_EQ(exact.p, 1);
  const Goodness off = ChiSquare(std::array<uint64_t, 3>{520, 300, 180}, kWeights);
  EXPECT_NEAR(off.statistic, 400.0 / 500 + 400.0 / 200, 1e-9);
  EXPECT_LT(ChiSquare(std::array<uint64_t, 3>{300, 500, 200}, kWeights).p, 1e-9);
}

TEST(Statistics, ImpossibleValueGivesZero) {
  constexpr std::array<uint32_t, 2> kWeights = {1, 0};
  EXPECT_EQ(ChiSquare(std::array<uint64_t, 2>{1'000, 1}, kWeights).p, 0);
}

TEST(Statistics, MergesRareCells) {
  constexpr std::array<uint32_t, 4> kWeights = {97, 1, 1, 1};
  EXPECT_EQ(ChiSquare(std::array<uint64_t, 4>{194, 2, 2, 2}, kWeights).degrees, 1);
  EXPECT_EQ(ChiSquare(std::array<uint64_t, 4>{10, 0, 0, 0}, kWeights).degrees, 0) << "too few";
}

TEST(Statistics, KsDistinguishesUniformFromOthers) {
  std::vector<double> even;
  std::vector<double> bent;
  for (int i = 0; i < 1'000; ++i) {
    even.push_back((i * 617 % 1'000 + 0.5) / 1'000);
    bent.push_back(even.back() * even.back());
  }
  EXPECT_GT(UniformKs(even).p, 0.99);
  EXPECT_LT(UniformKs(bent).p, 1e-20);
  // D = 0.0430 is the 5 % point for a thousand.
  std::vector<double> shifted;
  for (const double value : even) shifted.push_back(std::min(1.0, value + 0.0425));
  EXPECT_NEAR(UniformKs(shifted).p, 0.05, 0.01);
  std::vector<double> few = {0.1, 0.2};
  EXPECT_EQ(UniformKs(few).p, 1) << "too few";
}

TEST(Statistics, NormalShare) {
  EXPECT_NEAR(NormalShare(0), 0.5, 1e-12);
  EXPECT_NEAR(NormalShare(1.959964), 0.975, 1e-6);
}

}  // namespace statistics_test
}  // namespace reveza::fraudgen::check
