#include "phi/discrete/symbols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace reveza::phi {
namespace symbols_test {

TEST(QuantileBinsTest, AreEquallyFilled) {
  const std::vector<double> values = {5, 1, 4, 2, 3, 0};
  EXPECT_EQ(*QuantileBins(values, 3), (std::vector<Symbol>{2, 0, 2, 1, 1, 0}));
  EXPECT_EQ(*QuantileBins(values, 2), (std::vector<Symbol>{1, 0, 1, 0, 1, 0}));
}

TEST(QuantileBinsTest, LongSeriesAreBinnedByRank) {
  // Of the last, every sampled value is the same, so that the sample encloses no quantile.
  constexpr std::size_t kRows = 1 << 17;
  std::mt19937_64 engine(3);
  std::vector<std::vector<double>> all(3, std::vector<double>(kRows));
  for (std::size_t i = 0; i < kRows; ++i) {
    all[0][i] = static_cast<double>(engine() % 1'000'003);
    all[1][i] = static_cast<double>(engine() % 40);
    all[2][i] = i % 32 == 0 ? -5.0 : static_cast<double>(engine() % 1'000'003);
  }
  for (const auto& values : all) {
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    for (const int bins : {2, 4, 16, 17}) {
      std::vector<double> bounds;
      for (int bin = 1; bin < bins; ++bin) bounds.push_back(sorted[kRows * bin / bins]);
      const auto same = std::ranges::unique(bounds);
      bounds.erase(same.begin(), same.end());
      const auto binned = QuantileBins(values, bins);
      ASSERT_TRUE(binned);
      for (std::size_t i = 0; i < kRows; ++i) {
        ASSERT_EQ((*binned)[i], std::ranges::upper_bound(bounds, values[i]) - bounds.begin());
      }
    }
  }
}

// Columns that are binned together: long and short, with ties, few values, one that is not finite,
// and samples that mislead.
TEST(QuantileBinsTest, ColumnsAreBinnedAsEachAlone) {
  constexpr std::size_t kStride = 9;
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  for (const std::size_t rows : {20UL, 4095UL, 4096UL, 4097UL, 20'011UL}) {
    std::vector<double> values(rows * kStride);
    const std::size_t apart =
        std::max<std::size_t>(1, rows / std::min<std::size_t>(4096, rows / 32 + 1));
    for (std::size_t row = 0; row < rows; ++row) {
      double* const at = values.data() + row * kStride;
      at[0] = normal(engine);
      at[1] = static_cast<double>(engine() % 40);
      at[2] = static_cast<double>(engine() % 3);
      at[3] = row % apart == 0 ? -5.0 : normal(engine);
      at[4] = row + 1 == rows ? std::nan("") : normal(engine);
      at[5] = row == rows / 2 ? HUGE_VAL : normal(engine);
      at[6] = 1.0;
      at[7] = engine() % 10 < 9 ? 0.0 : normal(engine) * normal(engine);
      at[8] = normal(engine) * 1e-310;  // denormal
    }
    for (const int bins : {1, 2, 4, 16, 17}) {
      for (const std::size_t first : {0UL, 1UL, 5UL}) {
        const std::size_t count = std::min(ValueColumns::kMax, kStride - first);
        const auto together = QuantileBins(
            {.first = values.data() + first, .rows = rows, .count = count, .stride = kStride},
            bins);
        ASSERT_EQ(together.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
          std::vector<double> column;
          for (std::size_t row = 0; row < rows; ++row) {
            column.push_back(values[row * kStride + first + i]);
          }
          const auto alone = QuantileBins(column, bins);
          ASSERT_EQ(together[i].has_value(), alone.has_value()) << rows << ' ' << first + i;
          if (alone) {
            EXPECT_EQ(*together[i], *alone) << rows << ' ' << first + i;
          } else {
            EXPECT_EQ(together[i].error().message, alone.error().message);
          }
        }
      }
    }
  }
}

TEST(QuantileBinsTest, FewDistinctValuesBecomeSymbols) {
  const std::vector<double> spikes = {0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
  EXPECT_EQ(*QuantileBins(spikes, 4), (std::vector<Symbol>{0, 0, 1, 0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(*QuantileBins(spikes, 2), (std::vector<Symbol>{0, 0, 1, 0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(*QuantileBins(std::vector<double>{7, 7, 7, 7, -1, 2.5}, 3),
            (std::vector<Symbol>{2, 2, 2, 2, 0, 1}));
}

TEST(QuantileBinsTest, MinimumFillsOneBin) {
  // Nine of twelve are 0: the bounds of four bins would be 0, 0, 1.
  const std::vector<double> counts = {0, 0, 0, 5, 0, 0, 1, 0, 0, 2, 0, 3, 0};
  const auto binned = QuantileBins(counts, 4);
  ASSERT_TRUE(binned);
  EXPECT_EQ(*binned, (std::vector<Symbol>{0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0}));
}

TEST(QuantileBinsTest, RejectConstantAndInvalidValues) {
  EXPECT_FALSE(QuantileBins(std::vector<double>{1, 1, 1, 1}, 2));
  EXPECT_FALSE(QuantileBins(std::vector<double>{1, 2, 3}, 1));
  EXPECT_FALSE(QuantileBins(std::vector<double>{1, 2, 3}, 4));
  const auto missing = QuantileBins(std::vector<double>{1, std::nan(""), 3}, 2);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("row 1"), std::string::npos);
}

TEST(JointSymbolsTest, TellCombinationsApart) {
  const std::vector<Symbol> one = {0, 1, 0, 1, 0}, other = {5, 5, 7, 5, 5}, third = {0, 0, 0, 2, 0};
  const std::vector<std::span<const Symbol>> series = {one, other, third};
  EXPECT_EQ(*JointSymbols(series), (std::vector<Symbol>{0, 1, 2, 3, 0}));
  EXPECT_EQ(*JointSymbols(std::span(series).first(1)), one);
  std::vector<std::vector<Symbol>> many(2, std::vector<Symbol>(kMaxSymbols + 1));
  for (std::size_t i = 0; i < many[0].size(); ++i) {
    many[0][i] = static_cast<Symbol>(i % 300);
    many[1][i] = static_cast<Symbol>(i / 300);
  }
  EXPECT_FALSE(JointSymbols(std::vector<std::span<const Symbol>>(many.begin(), many.end())));
}

TEST(SymbolSeriesTest, PlanesHoldTheBitsOfAllRows) {
  std::mt19937_64 engine(5);
  for (const std::size_t rows : {1, 8, 63, 64, 65, 200}) {
    std::vector<Symbol> symbols;
    for (std::size_t i = 0; i < rows; ++i) symbols.push_back(static_cast<Symbol>(engine() % 6));
    symbols.front() = 5;
    const SymbolSeries series(symbols);
    EXPECT_EQ(series.states(), 6U);
    ASSERT_EQ(series.bits(), 3);
    for (int bit = 0; bit < series.bits(); ++bit) {
      const BitPlane plane = series.Plane(bit, 0);
      for (std::size_t i = 0; i < rows; ++i) {
        ASSERT_EQ(plane.words[i / 64] >> i % 64 & 1U, symbols[i] >> bit & 1U) << rows << i;
      }
    }
  }
}

}  // namespace symbols_test
}  // namespace reveza::phi
