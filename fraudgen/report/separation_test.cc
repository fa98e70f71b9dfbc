#include "fraudgen/report/separation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "fraudgen/report/counts.h"

namespace reveza::fraudgen::report {
namespace separation_test {

using Rows = std::vector<std::pair<int64_t, bool>>;

// The area by definition: every fraud against every honest row.
double AreaByHand(const Rows& rows) {
  double won = 0;
  double games = 0;
  for (const auto& [fraud, is_fraud] : rows) {
    if (!is_fraud) continue;
    for (const auto& [honest, also_fraud] : rows) {
      if (also_fraud) continue;
      games += 1;
      won += fraud > honest ? 1 : fraud == honest ? 0.5 : 0;
    }
  }
  return won / games;
}

double AreaOfNumbers(const Rows& rows) {
  NumberSeparation separation;
  for (const auto& [value, fraud] : rows) separation.Add(value, fraud);
  return separation.Area();
}

TEST(Separation, MatchesDefinition) {
  const Rows rows = {{-70, false}, {-3, true}, {0, false}, {1, false}, {1, true},
                     {5, true},    {5, false}, {63, true}, {64, true}, {1'000'000, false}};
  EXPECT_DOUBLE_EQ(AreaOfNumbers(rows), AreaByHand(rows));
  Rows backwards = rows;
  for (auto& [value, fraud] : backwards) value = -value;
  EXPECT_DOUBLE_EQ(AreaOfNumbers(backwards), AreaOfNumbers(rows)) << "either order counts";
}

TEST(Separation, BinsResolveThreePercent) {
  for (int64_t value = 64; value < (int64_t{1} << 61); value += value / 3 * 4) {
    const int64_t more = value + value / 31 + 1;
    EXPECT_DOUBLE_EQ(AreaOfNumbers({{value, false}, {more, true}}), 1) << value;
    EXPECT_DOUBLE_EQ(AreaOfNumbers({{-value, false}, {-more, true}}), 1) << value;
  }
  EXPECT_DOUBLE_EQ(AreaOfNumbers({{std::numeric_limits<int64_t>::min(), false},
                                  {std::numeric_limits<int64_t>::max(), true}}),
                   1);
}

TEST(Separation, PlacesNullsAtTheBetterEnd) {
  NumberSeparation frauds_lack_it;
  NumberSeparation honest_lack_it;
  for (int64_t i = 0; i < 10; ++i) {
    frauds_lack_it.AddNull(true);
    frauds_lack_it.Add(i, false);
    honest_lack_it.AddNull(false);
    honest_lack_it.Add(i, true);
  }
  EXPECT_DOUBLE_EQ(frauds_lack_it.Area(), 1);
  EXPECT_DOUBLE_EQ(honest_lack_it.Area(), 1);
}

TEST(Separation, IsOneHalfWithSingleClass) {
  EXPECT_DOUBLE_EQ(AreaOfNumbers({{1, true}, {2, true}}), 0.5);
  EXPECT_DOUBLE_EQ(CategorySeparation(4).Area(), 0.5);
}

TEST(Separation, OrdersCategoriesByFrauds) {
  CategorySeparation separation(3);
  for (int i = 0; i < 1'000; ++i) {
    separation.Add(0, i % 2 == 0);
    separation.Add(0, i % 2 == 0);
    separation.Add(2, false);
    separation.Add(2, false);
  }
  // One category has all frauds and as many honest rows; the others are honest.
  const double by_hand = (0.5 * 1'000 + 2'000) / 3'000;
  EXPECT_NEAR(separation.Area(), by_hand, 1e-9);
}

// Random frauds in many categories: evaluating on the learned rows would look good.
TEST(Separation, DoesNotOverfit) {
  constexpr std::size_t kCategories = 500;
  CategorySeparation separation(kCategories);
  std::vector<Pair> all(kCategories);
  uint64_t state = 1;
  for (int i = 0; i < 10'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::size_t category = (state >> 33) % kCategories;
    const bool fraud = (state >> 20) % 50 == 0;
    separation.Add(category, fraud);
    all[category].Add(fraud);
  }
  std::ranges::sort(all, {}, [](const Pair& pair) {
    return static_cast<double>(pair.fraud) / static_cast<double>(pair.all());
  });
  EXPECT_GT(AreaOf(all), 0.7);
  EXPECT_NEAR(separation.Area(), 0.5, 0.06);
}

TEST(Amounts, MedianIsAccurateToABin) {
  Amounts amounts;
  for (int64_t centavos = 1; centavos <= 100'001; ++centavos) amounts.Add(centavos, false);
  for (int i = 0; i < 3; ++i) amounts.Add(0, true);
  amounts.Add(500, true);
  EXPECT_NEAR(amounts.Median(&Pair::honest), 50'001, 50'001 * 0.03);
  EXPECT_EQ(amounts.Median(&Pair::fraud), 0) << "most are nothing";
  EXPECT_EQ(amounts.ToJson({})["below"], (Json{{"honest", 0}, {"fraud", 3}}));
  EXPECT_EQ(amounts.ToJson({.honest = 0, .fraud = 1})["mean"]["fraud"], 5.0);
  EXPECT_DOUBLE_EQ(amounts.ToJson({.honest = 1, .fraud = 0})["mean"]["honest"].get<double>(),
                   50'001'500.01);
  EXPECT_EQ(Amounts().Median(&Pair::honest), 0);
}

TEST(Amounts, PowersOfTenStartBins) {
  Amounts amounts;
  std::size_t bin = 0;
  for (int64_t centavos = 1; centavos <= 100'000'000; centavos *= 10) {
    amounts.Add(centavos, false);
    EXPECT_EQ(amounts.ToJson({})["honest"][bin], 1) << centavos;
    bin += Amounts::kBinsPerDecade;
  }
  amounts.Add(std::numeric_limits<int64_t>::max() / 8, true);
  EXPECT_EQ(amounts.ToJson({})["fraud"].back(), 1);
}

TEST(Days, CountsInAnyOrderUpToLimit) {
  Days days;
  for (const int64_t day : {5, 5, -2, 5, -2}) days.Add(day, day < 0);
  EXPECT_EQ(days.all(), (std::map<int64_t, Pair>{{-2, {.honest = 0, .fraud = 2}},
                                                 {5, {.honest = 3, .fraud = 0}}}));
  for (int64_t day = 0; day < 200'000; ++day) days.Add(day, false);
  days.Add(5, true);
  EXPECT_EQ(days.all().size(), Days::kMaxDays);
  EXPECT_EQ(days.all().at(5).fraud, 1u) << "those that are known go on";
}

}  // namespace separation_test
}  // namespace reveza::fraudgen::report
