#include "phi/measures/multiplets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "phi/measures/testing_hoi.h"
#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace multiplets_test {

constexpr std::size_t kO = 0, kS = 1, kTc = 2, kDtc = 3;

SeriesView ViewOf(const std::vector<double>& values, int variables) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / variables, variables,
          variables};
}

std::vector<double> HoiSeries() {
  std::vector<double> values;
  for (const auto& row : kHoiSeries) values.insert(values.end(), row.begin(), row.end());
  return values;
}

Matrix CorrelationOfNoise(int size, std::uint64_t seed) {
  return CorrelationOf(RandomSystem(size, seed).noise)->matrix;
}

std::vector<int> Members(std::uint32_t subset) {
  std::vector<int> members;
  for (; subset != 0; subset &= subset - 1) members.push_back(std::countr_zero(subset));
  return members;
}

// Differential entropy of a subset, from a decomposition of its own.
double Entropy(const Matrix& covariance, std::uint32_t subset) {
  const std::vector<int> members = Members(subset);
  const double log = LogDeterminantOf(*Cholesky(Submatrix(covariance, members, members)));
  return 0.5 * (log + static_cast<double>(members.size()) *
                          std::log(2.0 * std::numbers::pi * std::numbers::e));
}

// The values by definition.
MultipletValues ByEntropies(const Matrix& covariance, std::uint32_t subset) {
  const double whole = Entropy(covariance, subset);
  double alone = 0.0;
  double given_others = 0.0;
  for (const int i : Members(subset)) {
    const std::uint32_t bit = std::uint32_t{1} << i;
    alone += Entropy(covariance, bit);
    given_others += whole - (subset == bit ? 0.0 : Entropy(covariance, subset ^ bit));
  }
  const double total = alone - whole;
  const double dual = whole - given_others;
  return {total - dual, total + dual, total, dual};
}

TEST(MultipletsTest, MatchHoi) {
  const std::vector<double> values = HoiSeries();
  const SeriesView view = ViewOf(values, 5);
  const auto plain = MeasureMultiplets(std::span(&view, 1), {});
  const auto copula = MeasureMultiplets(std::span(&view, 1), {.copula = true});
  ASSERT_TRUE(plain && copula);
  EXPECT_EQ(plain->samples, 60);
  constexpr double kSinglePrecision = 2e-6;
  for (std::size_t row = 0; row < kHoiGauss.size(); ++row) {
    const auto subset = kHoiGauss[row].subset;
    const MultipletValues bias = MultipletBias(std::popcount(subset), 60);
    for (std::size_t i = 0; i < 4; ++i) {
      const double by_ranks = copula->multiplets.ValuesOf(subset)[i];
      EXPECT_NEAR(plain->multiplets.ValuesOf(subset)[i], kHoiGauss[row].values[i],
                  kSinglePrecision);
      EXPECT_NEAR(by_ranks, kHoiCopula[row].values[i], kSinglePrecision);
      EXPECT_NEAR(by_ranks - bias[i], kHoiCopulaLessBias[row].values[i], kSinglePrecision);
    }
  }
}

TEST(MultipletsTest, MatchEntropiesOfAllSubsets) {
  for (int variables = 2; variables <= 7; ++variables) {
    const Matrix covariance = RandomSystem(variables, 5).noise;
    const auto multiplets = Multiplets::Of(CorrelationOf(covariance)->matrix);
    ASSERT_TRUE(multiplets);
    for (std::uint32_t subset = 1; subset < (1U << variables); ++subset) {
      const MultipletValues expected = ByEntropies(covariance, subset);
      const MultipletValues found = multiplets->ValuesOf(subset);
      for (std::size_t i = 0; i < 4; ++i) ASSERT_NEAR(found[i], expected[i], 1e-11) << subset;
    }
  }
}

TEST(MultipletsTest, IdentitiesAndBounds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Matrix matrix = CorrelationOfNoise(6, seed);
    const auto multiplets = Multiplets::Of(matrix);
    ASSERT_TRUE(multiplets);
    for (std::uint32_t subset = 1; subset < 64; ++subset) {
      const MultipletValues found = multiplets->ValuesOf(subset);
      EXPECT_NEAR(found[kO], found[kTc] - found[kDtc], 1e-12);
      EXPECT_NEAR(found[kS], found[kTc] + found[kDtc], 1e-12);
      EXPECT_GE(found[kTc], -1e-12);
      EXPECT_GE(found[kDtc], -1e-12);
      if (std::popcount(subset) <= 2) {
        EXPECT_EQ(found[kO], 0.0);
      }
      // s is the information between each variable and the others.
      double between = 0.0;
      for (const int i : Members(subset)) {
        const std::uint32_t bit = std::uint32_t{1} << i;
        if (subset == bit) continue;
        between += Entropy(matrix, bit) + Entropy(matrix, subset ^ bit) - Entropy(matrix, subset);
      }
      EXPECT_NEAR(found[kS], between, 1e-11);
      // A variable more never lowers the total correlation.
      for (const int i : Members(subset)) {
        const auto smaller = multiplets->ValuesOf(subset ^ (std::uint32_t{1} << i));
        EXPECT_GE(found[kTc], smaller[kTc] - 1e-12);
      }
    }
  }
}

TEST(MultipletsTest, SignTellsSynergyFromRedundancy) {
  // Noisy copies of one source.
  const Matrix copies = {{1, .8, .8}, {.8, 1, .8}, {.8, .8, 1}};
  EXPECT_GT(Multiplets::Of(copies)->ValuesOf(7)[kO], 0.1);
  // z = x + y + noise: as with XOR, x and y are independent until z is known.
  const double r = std::sqrt(0.45);
  const Matrix sum = {{1, 0, r}, {0, 1, r}, {r, r, 1}};
  EXPECT_LT(Multiplets::Of(sum)->ValuesOf(7)[kO], -0.1);
  for (const double value : Multiplets::Of(Matrix::Identity(4))->ValuesOf(15)) {
    EXPECT_NEAR(value, 0.0, 1e-15);
  }
  // Two independent pairs are neither.
  const Matrix pairs = {{1, .6, 0, 0}, {.6, 1, 0, 0}, {0, 0, 1, .6}, {0, 0, .6, 1}};
  EXPECT_NEAR(Multiplets::Of(pairs)->ValuesOf(15)[kO], 0.0, 1e-12);
}

TEST(MultipletsTest, OrdersSummariseTheirSubsets) {
  const auto multiplets = Multiplets::Of(CorrelationOfNoise(6, 3));
  const auto orders = multiplets->Orders();
  ASSERT_EQ(orders.size(), 5U);
  constexpr std::array kCounts = {15, 20, 15, 6, 1};
  for (std::size_t at = 0; at < orders.size(); ++at) {
    const MultipletOrder& order = orders[at];
    EXPECT_EQ(order.order, static_cast<int>(at) + 2);
    EXPECT_EQ(order.subsets, kCounts[at]);
    for (std::size_t i = 0; i < 4; ++i) {
      double sum = 0.0;
      for (std::uint32_t subset = 0; subset < 64; ++subset) {
        if (std::popcount(subset) != order.order) continue;
        const double value = multiplets->ValuesOf(subset)[i];
        sum += value;
        EXPECT_LE(order.lowest[i].value, value);
        EXPECT_GE(order.highest[i].value, value);
      }
      EXPECT_NEAR(order.mean[i], sum / kCounts[at], 1e-12);
      EXPECT_EQ(multiplets->ValuesOf(order.lowest[i].subset)[i], order.lowest[i].value);
      EXPECT_EQ(multiplets->ValuesOf(order.highest[i].subset)[i], order.highest[i].value);
      EXPECT_EQ(std::popcount(order.highest[i].subset), order.order);
    }
  }
}

TEST(MultipletsTest, RejectWhatHasNoTable) {
  EXPECT_FALSE(Multiplets::Of(Matrix::Identity(1)));
  EXPECT_FALSE(Multiplets::Of(Matrix::Identity(25)));
  EXPECT_TRUE(Multiplets::Of(Matrix::Identity(2)));
  const std::vector<double> few = {1, 2, 2, 1, 3, 3};
  const SeriesView view = ViewOf(few, 2);
  EXPECT_FALSE(MeasureMultiplets(std::span(&view, 1), {}));
  const std::vector<double> constant = {1, 2, 2, 2, 3, 2, 5, 2, 1, 2};
  const SeriesView flat = ViewOf(constant, 2);
  EXPECT_FALSE(MeasureMultiplets(std::span(&flat, 1), {.copula = true}));
  EXPECT_EQ(MultipletBytes(20, 2), Bytes{16} << 20);
}

TEST(MultipletsTest, CopulaDependsOnRanksOnly) {
  std::vector<double> values = HoiSeries();
  const SeriesView view = ViewOf(values, 5);
  const auto before = MeasureMultiplets(std::span(&view, 1), {.copula = true});
  for (double& value : values) value = std::exp(value);
  const auto after = MeasureMultiplets(std::span(&view, 1), {.copula = true});
  EXPECT_EQ(before->multiplets.ValuesOf(31), after->multiplets.ValuesOf(31));
  EXPECT_NE(before->multiplets.ValuesOf(31),
            MeasureMultiplets(std::span(&view, 1), {})->multiplets.ValuesOf(31));
}

// Events of two independent columns; ranks in order of rows would make copies of their zeros.
TEST(MultipletsTest, EqualValuesShareARank) {
  std::mt19937_64 engine(1);
  std::vector<double> values;
  for (int i = 0; i < 2000; ++i) values.push_back(engine() % 10 == 0 ? 1.0 : 0.0);
  const SeriesView view = ViewOf(values, 2);
  const auto found = MeasureMultiplets(std::span(&view, 1), {.copula = true});
  EXPECT_LT(found->multiplets.ValuesOf(3)[kTc], 0.005);
}

TEST(MultipletsTest, RowsOfTrialsArePooled) {
  const std::vector<double> values = HoiSeries();
  const SeriesView whole = ViewOf(values, 5);
  const std::vector<SeriesView> trials = {whole.Part(0, 13), whole.Part(13, 47)};
  for (const bool copula : {false, true}) {
    const auto one = MeasureMultiplets(std::span(&whole, 1), {.copula = copula});
    const auto other = MeasureMultiplets(trials, {.copula = copula});
    EXPECT_EQ(other->samples, 60);
    EXPECT_EQ(one->multiplets.ValuesOf(31), other->multiplets.ValuesOf(31));
  }
}

TEST(MultipletsTest, BiasIsThatOfIndependentRows) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  constexpr int kRows = 25, kRounds = 2000;
  MultipletValues mean = {};
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> values(static_cast<std::size_t>(kRows) * 4);
    for (double& value : values) value = normal(engine);
    const SeriesView view = ViewOf(values, 4);
    const auto found = MeasureMultiplets(std::span(&view, 1), {});
    for (std::size_t i = 0; i < 4; ++i) mean[i] += found->multiplets.ValuesOf(15)[i] / kRounds;
  }
  const MultipletValues bias = MultipletBias(4, kRows);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(mean[i], bias[i], 0.004) << i;
  EXPECT_NEAR(mean[kO], bias[kO], 0.001);
  EXPECT_GT(bias[kTc], 0.1);
  EXPECT_LT(bias[kO], -0.004);
}

TEST(MultipletsTest, SurrogatesAreIndependentVariables) {
  const std::vector<double> values = HoiSeries();
  const SeriesView view = ViewOf(values, 5);
  const auto null = MultipletNull::Of(std::span(&view, 1), {}, {.count = 99, .threads = 3});
  ASSERT_TRUE(null) << null.error().message;
  const auto orders = MeasureMultiplets(std::span(&view, 1), {})->multiplets.Orders();
  // Of order 3: variables 2, 3 and 4 are x, x + y and y; none of three copies another two.
  EXPECT_EQ(orders[1].lowest[kO].subset, 0b11100U);
  EXPECT_EQ(null->P(MultipletMeasure::kOInformation, 3, orders[1].lowest[kO].value, true), 0.01);
  EXPECT_EQ(null->P(MultipletMeasure::kTotalCorrelation, 2, orders[0].highest[kTc].value, false),
            0.01);
  EXPECT_GT(null->P(MultipletMeasure::kOInformation, 3, -1e-6, true), 0.9);
  EXPECT_EQ(null->P(MultipletMeasure::kOInformation, 3, 100.0, false), 0.01);
  EXPECT_LT(null->Bound(MultipletMeasure::kOInformation, 3, true), 0.0);
  EXPECT_LT(orders[1].lowest[kO].value, null->Bound(MultipletMeasure::kOInformation, 3, true));
  const auto again = MultipletNull::Of(std::span(&view, 1), {}, {.count = 99, .threads = 1});
  EXPECT_EQ(again->Bound(MultipletMeasure::kSInformation, 5, false),
            null->Bound(MultipletMeasure::kSInformation, 5, false));
  EXPECT_FALSE(MultipletNull::Of(std::span(&view, 1), {}, {.count = 0}));
}

// The highest and lowest o of ten triplets of independent noise, each in its own null.
TEST(MultipletsTest, PIsCalibratedForExtremes) {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  constexpr int kRounds = 200;
  int high = 0;
  int low = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> values(100 * 5);
    for (double& value : values) value = normal(engine);
    const SeriesView view = ViewOf(values, 5);
    const auto null = MultipletNull::Of(std::span(&view, 1), {}, {.count = 19});
    const auto order = MeasureMultiplets(std::span(&view, 1), {})->multiplets.Orders()[1];
    const auto p = [&](const MultipletExtreme& extreme, bool lowest) {
      return null->P(MultipletMeasure::kOInformation, 3, extreme.value, lowest);
    };
    if (p(order.highest[kO], false) <= 0.05) ++high;
    if (p(order.lowest[kO], true) <= 0.05) ++low;
  }
  // 5 % of 200 and three standard errors.
  EXPECT_LE(high, 20);
  EXPECT_LE(low, 20);
  EXPECT_GE(high, 1);
  EXPECT_GE(low, 1);
}

TEST(NormalQuantileTest, MatchesTables) {
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(NormalQuantile(1e-10), -6.361340902404056, 1e-12);
  EXPECT_NEAR(NormalQuantile(0.5), 0.0, 1e-15);
  EXPECT_EQ(NormalQuantile(0.25), -NormalQuantile(0.75));
}

}  // namespace multiplets_test
}  // namespace reveza::phi
