#include "phi/measures/surrogates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "phi/measures/significance.h"
#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace surrogates_test {

using Parts = std::vector<std::vector<int>>;

SeriesView ViewOf(const std::vector<double>& values, int variables) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / variables, variables,
          variables};
}

// Row t of variable i is 1000 i + t, so that a row tells where it comes from.
std::vector<double> Numbered(int length, int variables, double first = 0.0) {
  std::vector<double> values;
  for (int t = 0; t < length; ++t) {
    for (int i = 0; i < variables; ++i) values.push_back(first + 1000.0 * i + t);
  }
  return values;
}

TEST(SurrogatesTest, ShiftsHaveNoPairsAcrossASeam) {
  const auto values = Numbered(20, 3);
  const SeriesView view = ViewOf(values, 3);
  const Parts parts = {{0}, {1}, {2}};
  for (std::uint32_t number = 0; number < 50; ++number) {
    const Surrogate made = SurrogateOf({&view, 1}, parts, SurrogateKind::kShift, 1, number);
    std::int64_t rows = 0;
    for (const SeriesView& segment : made.views) {
      rows += segment.length;
      for (std::int64_t t = 0; t + 1 < segment.length; ++t) {
        for (int i = 0; i < 3; ++i) EXPECT_EQ(segment.Row(t + 1)[i], segment.Row(t)[i] + 1);
      }
    }
    EXPECT_EQ(rows, 20);
    EXPECT_GE(made.views.size(), 2U);
    EXPECT_LE(made.views.size(), 3U);
  }
}

TEST(SurrogatesTest, TrialsArePermutedByPart) {
  std::vector<std::vector<double>> values;
  std::vector<SeriesView> trials;
  for (int trial = 0; trial < 6; ++trial) values.push_back(Numbered(10, 3, 1e6 * trial));
  for (const auto& one : values) trials.push_back(ViewOf(one, 3));
  const Surrogate made = SurrogateOf(trials, {{0, 2}, {1}}, SurrogateKind::kTrials, 1, 0);
  ASSERT_EQ(made.views.size(), 6U);
  std::vector<int> sources;
  for (std::size_t trial = 0; trial < 6; ++trial) {
    const SeriesView& view = made.views[trial];
    const auto source = static_cast<int>(std::round(view.Row(0)[1] / 1e6));
    sources.push_back(source);
    EXPECT_EQ(view.length, 10);
    for (std::int64_t t = 0; t < view.length; ++t) {
      EXPECT_EQ(view.Row(t)[0], trials[trial].Row(t)[0]);
      EXPECT_EQ(view.Row(t)[2], trials[trial].Row(t)[2]);
      EXPECT_EQ(view.Row(t)[1], trials[static_cast<std::size_t>(source)].Row(t)[1]);
    }
  }
  EXPECT_FALSE(std::ranges::is_sorted(sources));
  std::ranges::sort(sources);
  EXPECT_EQ(sources, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

// Returns the covariance of a variable with itself or another one row earlier.
double Lagged(const SeriesView& view, int one, int other) {
  double sum = 0.0;
  for (std::int64_t t = 1; t < view.length; ++t) sum += view.Row(t)[one] * view.Row(t - 1)[other];
  return sum / static_cast<double>(view.length);
}

TEST(SurrogatesTest, PhasesPreserveParts) {
  const auto values = Simulated({TwoBlocks(), Matrix::Identity(4)}, 1000, 14);
  const SeriesView view = ViewOf(values, 4);
  for (const SurrogateKind kind : {SurrogateKind::kPhase, SurrogateKind::kIaaft}) {
    const Surrogate made = SurrogateOf({&view, 1}, {{0, 1}, {2, 3}}, kind, 1, 0);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(Lagged(made.views[0], i, i), Lagged(view, i, i), 0.05);
      EXPECT_NEAR(Lagged(made.views[0], i, i ^ 1), Lagged(view, i, i ^ 1), 0.05);
    }
    for (int i = 0; i < 4; ++i) {
      std::vector<double> before, after;
      for (std::int64_t t = 0; t < view.length; ++t) {
        before.push_back(view.Row(t)[i]);
        after.push_back(made.views[0].Row(t)[i]);
      }
      EXPECT_NE(before, after);
      std::ranges::sort(before);
      std::ranges::sort(after);
      EXPECT_EQ(before == after, kind == SurrogateKind::kIaaft);
    }
  }
}

std::vector<SeriesView> OfLengths(std::initializer_list<std::int64_t> lengths) {
  std::vector<SeriesView> trials;
  for (const std::int64_t length : lengths) trials.push_back({nullptr, length, 1, 1});
  return trials;
}

TEST(SurrogatesTest, TrialsAreTheDefaultWhereTheyAreEnoughAndOfOneLength) {
  const auto five = OfLengths({9, 9, 9, 9, 9});
  EXPECT_EQ(*ParseSurrogateKind("auto", five, 5), SurrogateKind::kTrials);
  EXPECT_EQ(*ParseSurrogateKind("auto", five, 4), SurrogateKind::kShift);
  EXPECT_EQ(*ParseSurrogateKind("auto", OfLengths({9, 9, 9, 9}), 5), SurrogateKind::kShift);
  EXPECT_EQ(*ParseSurrogateKind("auto", OfLengths({9, 9, 9, 9, 8}), 5), SurrogateKind::kShift);
  EXPECT_EQ(*ParseSurrogateKind("iaaft", OfLengths({9}), 1), SurrogateKind::kIaaft);
  EXPECT_NE(ParseSurrogateKind("trials", five, 4).error().message.find("at least 5"),
            std::string::npos);
  EXPECT_FALSE(ParseSurrogateKind("twist", five, 5));
}

TEST(SurrogatesTest, OnlyTrialsOfOneLengthArePermuted) {
  const auto equal = OfLengths({9, 9, 9, 9, 9, 9});
  const auto unequal = OfLengths({9, 9, 9, 8, 9, 9});
  EXPECT_TRUE(CheckSurrogates(equal, SurrogateKind::kTrials));
  EXPECT_FALSE(CheckSurrogates(unequal, SurrogateKind::kTrials));
  EXPECT_TRUE(CheckSurrogates(unequal, SurrogateKind::kShift));
}

TEST(SurrogatesTest, TheCommonLengthKeepsTheMostRowsInFiveTrials) {
  EXPECT_EQ(CommonLength(OfLengths({9, 9, 9, 9, 9})), 9);
  // Six of ten rather than seven of three.
  EXPECT_EQ(CommonLength(OfLengths({10, 3, 10, 10, 10, 10, 10})), 10);
  EXPECT_EQ(CommonLength(OfLengths({10, 9, 10, 10, 10, 10, 10})), 9);
  // Four would keep more rows, but have few permutations.
  EXPECT_EQ(CommonLength(OfLengths({100, 100, 3, 100, 100})), 3);
}

}  // namespace surrogates_test
}  // namespace reveza::phi
