#include "fraudgen/values/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <span>
#include <vector>

namespace reveza::fraudgen {
namespace random_test {

constexpr uint64_t kMax = ~uint64_t{0};

// Changing these changes the data of every seed.
TEST(FieldRandom, KeepsItsGoldenValues) {
  EXPECT_EQ(Mix(1), 0x5692161d100b05e5u);
  EXPECT_EQ(FieldRandom(0, 0, 0).Bits(0), 0x411dc2419df3b045u);
  EXPECT_EQ(FieldRandom(42, 3, 7).Bits(0), 0x35c116f28a46613au);
  EXPECT_EQ(FieldRandom(42, 3, 7).Bits(1), 0x573571f43c2d0aebu);
  EXPECT_EQ(FieldRandom(42, 3, 7).Bits(1, 1), 0xdfe215cb0dafeb49u);
  EXPECT_EQ(FieldRandom(kMax, 5, 38).Bits((uint64_t{1} << 48) - 1, 65535), 0x0cf9f3a410e4b24du);
}

TEST(FieldRandom, DependsOnSeedTableFieldRowAndDraw) {
  std::set<uint64_t> seen;
  int draws = 0;
  for (uint64_t seed : {0, 1, 2}) {
    for (uint32_t table : {0, 1, 2}) {
      for (uint32_t field : {0, 1, 2}) {
        for (uint64_t row = 0; row < 50; ++row) {
          for (uint16_t draw : {0, 1, 2}) {
            seen.insert(FieldRandom(seed, table, field).Bits(row, draw));
            ++draws;
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(draws));
}

// Between neighbouring rows, draws, fields and seeds each bit differs half of the time.
TEST(FieldRandom, NeighboursAreUncorrelated) {
  constexpr int kRows = 4000;
  const FieldRandom one(7, 1, 1);
  const std::array<FieldRandom, 3> others = {FieldRandom(8, 1, 1), FieldRandom(7, 2, 1),
                                             FieldRandom(7, 1, 2)};
  std::array<int, 64> differs{};
  int comparisons = 0;
  const auto compare = [&](uint64_t a, uint64_t b) {
    ++comparisons;
    for (int bit = 0; bit < 64; ++bit) differs[bit] += ((a ^ b) >> bit) & 1;
  };
  for (uint64_t row = 0; row < kRows; ++row) {
    compare(one.Bits(row), one.Bits(row + 1));
    compare(one.Bits(row), one.Bits(row, 1));
    for (const FieldRandom& other : others) compare(one.Bits(row), other.Bits(row));
  }
  // Five standard deviations of 20,000 coins are 354.
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NEAR(differs[bit], comparisons / 2.0, 400) << "bit " << bit;
  }
}

TEST(FieldRandom, BelowIsUniform) {
  constexpr int kRows = 70'000;
  const FieldRandom random(1, 2, 3);
  std::array<int, 7> counts{};
  for (uint64_t row = 0; row < kRows; ++row) ++counts[random.Below(7, row)];
  double chi_squared = 0;
  for (const int count : counts) {
    const double off = count - kRows / 7.0;
    chi_squared += off * off / (kRows / 7.0);
  }
  EXPECT_LT(chi_squared, 33.1) << "six degrees of freedom, p = 1e-5";
  EXPECT_EQ(random.Below(1, 9), 0u);
}

TEST(FieldRandom, BetweenIncludesBothEndsAndNegatives) {
  const FieldRandom random(1, 2, 4);
  std::set<int64_t> seen;
  for (uint64_t row = 0; row < 200; ++row) seen.insert(random.Between(-2, 3, row));
  EXPECT_EQ(seen, (std::set<int64_t>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(random.Between(-5, -5, 0), -5);
}

TEST(WeightedChoice, FollowsTheWeights) {
  // 2^16 evenly spread inputs hit each choice by its weight, up to rounding at the borders.
  const std::vector<uint32_t> weights = {42, 22, 13, 7, 0, 5, 4, 3, 3, 1};
  const WeightedChoice choice(weights);
  constexpr int kInputs = 1 << 16;
  std::vector<int> counts(weights.size());
  for (uint64_t i = 0; i < kInputs; ++i) ++counts[choice.Of(i << 48 | 1u << 15)];
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(counts[i], kInputs * weights[i] / 100.0, 12) << i;
  }
  EXPECT_EQ(counts[4], 0) << "weight 0 is never chosen";
}

TEST(WeightedChoice, NeverChoosesZeroWeight) {
  for (const auto& weights : {std::vector<uint32_t>{0, 1}, {1, 0}, {0, 0, 5, 0}, {0, 7, 0, 7}}) {
    const WeightedChoice choice(weights);
    const FieldRandom random(3, 0, 0);
    for (uint64_t row = 0; row < 1000; ++row) {
      EXPECT_GT(weights[choice.Of(random.Bits(row))], 0u);
    }
    EXPECT_GT(weights[choice.Of(0)], 0u);
    EXPECT_GT(weights[choice.Of(kMax)], 0u);
  }
}

TEST(WeightedChoice, AcceptsTheLargestWeights) {
  const WeightedChoice choice(std::vector<uint32_t>{0xfffffffeu, 1});
  EXPECT_EQ(choice.Of(0), 0u);
  EXPECT_EQ(choice.Of(kMax), 0u) << "the rest of the second column is an alias of the first";
  EXPECT_EQ(choice.Of(uint64_t{1} << 63), 1u) << "the second column starts with its own choice";
}

TEST(WeightedChoice, SingleChoiceIsAlwaysChosen) {
  const WeightedChoice choice(std::vector<uint32_t>{9});
  EXPECT_EQ(choice.Of(0), 0u);
  EXPECT_EQ(choice.Of(kMax), 0u);
}

TEST(FieldRandom, FillMatchesBits) {
  const FieldRandom random(42, 3, 9);
  constexpr uint64_t kFirst = 4'000'000'000;
  for (const std::size_t count : {0u, 1u, 7u, 8u, 1'001u}) {
    for (const uint16_t draw : {0, 5}) {
      std::vector<uint64_t> bits(count + 1, 77);
      random.Fill(kFirst, std::span(bits).first(count), draw);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(bits[i], random.Bits(kFirst + i, draw)) << i;
      }
      EXPECT_EQ(bits[count], 77u);

      std::vector<uint16_t> offsets;
      std::vector<uint64_t> rows;
      for (std::size_t i = 0; i < count; ++i) {
        offsets.push_back(static_cast<uint16_t>(i * 61));
        rows.push_back(i * i * i * 1'000);
      }
      random.FillAt(kFirst, offsets, bits, draw);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(bits[i], random.Bits(kFirst + offsets[i], draw)) << i;
      }
      random.FillAt(rows, bits, draw);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(bits[i], random.Bits(rows[i], draw)) << i;
      EXPECT_EQ(bits[count], 77u);
    }
  }
}

}  // namespace random_test
}  // namespace reveza::fraudgen
