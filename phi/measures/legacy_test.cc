#include "phi/measures/legacy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace reveza::phi {
namespace legacy_test {

TEST(LegacyTest, CorrelationsByHand) {
  const std::vector<double> x = {1, 2, 3};
  const std::vector<double> y = {2, 1, 3};
  const std::vector<double> z = {5, 5, 5};
  // Deviations (-1, 0, 1) and (0, -1, 1): 1 / (sqrt 2 * sqrt 2).
  EXPECT_NEAR(AbsoluteCorrelation(x.data(), y.data(), 3, 1, 1), 0.5, 1e-15);
  EXPECT_EQ(AbsoluteCorrelation(x.data(), z.data(), 3, 1, 1), 0.0);
  const std::vector<double> down = {3, 2, 1};
  EXPECT_NEAR(AbsoluteCorrelation(x.data(), down.data(), 3, 1, 1), 1.0, 1e-15);
}

TEST(LegacyTest, PairStrengthOfAnImpulseByHand) {
  // Ten states: three lags. Column 0 is 1 at time 2, column 1 is 1 at time 4, else 0. At lag 2 the
  // eight pairs have their ones together: 1. At lags 1 and 3 with m = 9 and 7 pairs they do not:
  // (0 - 1/m) / (1 - 1/m) = -1 / (m - 1).
  std::vector<double> values(20, 0.0);
  values[2 * 2] = 1.0;
  values[4 * 2 + 1] = 1.0;
  const SeriesView series = {values.data(), 10, 2, 2};
  EXPECT_NEAR(*LegacyPairStrength(series, 0, 1), (1.0 / 8.0 + 1.0 + 1.0 / 6.0) / 3.0, 1e-15);
}

TEST(LegacyTest, UsesOnlyTheLastFiftyStates) {
  std::vector<double> values(140, 0.0);
  for (std::size_t t = 0; t < 20; ++t) values[2 * t] = 1e6 * static_cast<double>(t * t % 7);
  for (std::size_t t = 20; t < 70; ++t) {
    values[2 * t] = static_cast<double>(t * t % 11);
    values[2 * t + 1] = static_cast<double>(t * t * t % 13);
  }
  const SeriesView series = {values.data(), 70, 2, 2};
  EXPECT_EQ(*LegacyPairStrength(series, 0, 1), *LegacyPairStrength(series.Part(20, 50), 0, 1));
  EXPECT_FALSE(LegacyPairStrength(series.Part(0, 9), 0, 1));
  EXPECT_TRUE(LegacyPairStrength(series.Part(0, 10), 0, 1));
}

TEST(LegacyTest, HarmonicMeanByHand) {
  // 0.2 -> c = 0.1; 0.8 -> c = 0.4, 0.8 apart: 0.4 (1 - 0.16) = 0.336; 0.0019 is dropped.
  const std::vector<LegacyRecord> records = {{0.2, 0}, {0.8, 0}, {0.0019, 0}};
  EXPECT_NEAR(LegacyWorkspacePhi(records), 2.0 / (1.0 / 0.1 + 1.0 / 0.336), 1e-15);
  // (0.5 + 0.4) / 2, 0.1 apart.
  EXPECT_NEAR(LegacyWorkspacePhi(std::vector<LegacyRecord>{{0.5, 0.4}}), 0.45, 1e-15);
  EXPECT_EQ(LegacyWorkspacePhi(std::vector<LegacyRecord>{{0.001, 0}}), 0.01);
  EXPECT_EQ(LegacyWorkspacePhi({}), 0.01);
}

TEST(LegacyTest, TripleByHand) {
  // Two dimensions over three states; |corr| of C and P 0.5 and 1, of C and U 1 and 0.5, of P and U
  // 0.5 and 0.5.
  const std::vector<double> c = {1, 1, 2, 2, 3, 3};
  const std::vector<double> p = {2, 3, 1, 2, 3, 1};
  const std::vector<double> u = {1, 2, 2, 1, 3, 3};
  const auto view = [](const std::vector<double>& values) {
    return SeriesView{values.data(), 3, 2, 2};
  };
  EXPECT_NEAR(LegacyTriplePhi(view(c), view(p), view(u)), (0.75 + 0.75 + 0.5) / 3.0, 1e-15);
}

TEST(LegacyTest, CombinedByHand) {
  EXPECT_EQ(LegacyCombined(0.0, 0.4), 0.4);
  EXPECT_EQ(LegacyCombined(0.05, 0.6), 0.6);                                  // 0.55 apart
  EXPECT_NEAR(LegacyCombined(0.08, 0.53), 0.88 * 0.53 + 0.12 * 0.08, 1e-15);  // 0.7 + 0.4 * 0.45
  EXPECT_NEAR(LegacyCombined(0.3, 0.7), 0.6 * 0.7 + 0.4 * 0.3, 1e-15);
  EXPECT_NEAR(LegacyCombined(0.05, 0.2), 0.6 * 0.2 + 0.4 * 0.05, 1e-15);
}

TEST(LegacyTest, UsesOnlyRecentRecords) {
  // Three modules: six records per cycle, 200 after 34 cycles. Earlier strong records are dropped.
  std::vector<double> values;
  for (int t = 0; t < 120; ++t) {
    for (int module = 0; module < 3; ++module) {
      const double shared = std::sin(0.3 * t);
      const double own = static_cast<double>((t * (7 + 4 * module) * (t + 3 * module)) % 31);
      values.push_back(t < 40 ? shared : own);
    }
  }
  LegacyPhi all;
  LegacyPhi late;
  double last_of_all = 0.0;
  double last_of_late = 0.0;
  for (int t = 10; t <= 120; ++t) {
    last_of_all = *all.Add({values.data(), t, 3, 3});
    if (t > 120 - 34) last_of_late = *late.Add({values.data(), t, 3, 3});
  }
  EXPECT_EQ(last_of_all, last_of_late);
}

TEST(LegacyTest, IndependentNoiseIsNotZero) {
  const LegacyNull null = LegacyNullOf(6, 50, 100, 1);
  // sqrt(2 / (pi n)) / 2 for n = 47 is 0.058; the harmonic mean is a little below.
  EXPECT_GT(null.mean, 0.04);
  EXPECT_LT(null.mean, 0.06);
  EXPECT_LT(null.low, null.mean);
  EXPECT_GT(null.high, null.mean);
  const LegacyNull again = LegacyNullOf(6, 50, 100, 1);
  EXPECT_EQ(null.mean, again.mean);
  EXPECT_NE(null.mean, LegacyNullOf(6, 50, 100, 2).mean);
}

TEST(LegacyTest, CombinedNullMatchesExpectation) {
  // Of n = 20, |r| is Beta distributed: E = Gamma(n/2 - 1/2) / (sqrt(pi) Gamma(n/2)) = 0.1858;
  // 0.6 of it and 0.4 of phi_ws, 0.05.
  const double triple = std::tgamma(9.5) / (std::sqrt(M_PI) * std::tgamma(10));
  const double workspace = LegacyNullOf(6, kLegacyWindow, 100, 1).mean;
  const LegacyNull wide = LegacyCombinedNullOf(6, 768, 100);
  EXPECT_NEAR(wide.mean, 0.6 * triple + 0.4 * workspace, 0.002);
  EXPECT_LT(wide.high, 0.15);
  EXPECT_GT(wide.low, 0.11);
  // One dimension has the same mean, and spreads.
  const LegacyNull narrow = LegacyCombinedNullOf(6, 1, 400);
  EXPECT_NEAR(narrow.mean, wide.mean, 0.015);
  EXPECT_GT(narrow.deviation, 4 * wide.deviation);
  // Scaled deviations agree with drawn ones.
  EXPECT_NEAR(LegacyCombinedNullOf(6, 64, 100).deviation,
              LegacyCombinedNullOf(6, 65, 100).deviation, 1e-3);
}

}  // namespace legacy_test
}  // namespace reveza::phi
