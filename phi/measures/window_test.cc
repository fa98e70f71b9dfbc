#include "phi/measures/window.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace window_test {

TEST(WindowTest, MeasuresAWindowInOneCall) {
  const auto values = Simulated(RandomSystem(6, 1), 50, 2);
  const SeriesView view = {values.data(), 50, 6, 6};
  const WindowOptions options = {.measures = {Measure::kStochasticInteraction, Measure::kPhiR,
                                              Measure::kPhiG, Measure::kInformation}};
  const auto result = MeasureWindow(view, options);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->size(), 4U);
  EXPECT_EQ((*result)[0].partition->Text(), "0|1|2|3|4|5");
  EXPECT_EQ((*result)[1].partition->parts().size(), 2U);
  EXPECT_EQ((*result)[1].examined, 31);
  EXPECT_LT((*result)[2].value, (*result)[0].value);
  EXPECT_FALSE((*result)[3].partition);
}

TEST(WindowTest, EachMeasureHasItsOwnMinimum) {
  const auto values = Simulated(RandomSystem(5, 3), 400, 4);
  const SeriesView view = {values.data(), 400, 5, 5};
  const auto result = MeasureWindow(
      view,
      {.measures = {Measure::kMultiInformation, Measure::kPhiStar}, .minimum = SearchOptions{}});
  ASSERT_TRUE(result) << result.error().message;
  for (const WindowValue& value : *result) EXPECT_EQ(value.examined, 15);
}

TEST(WindowTest, ReportsTheSearchMethod) {
  const auto values = Simulated(RandomSystem(5, 3), 400, 4);
  const SeriesView view = {values.data(), 400, 5, 5};
  for (const SearchMethod method : {SearchMethod::kQueyranne, SearchMethod::kExhaustive}) {
    const auto result = MeasureWindow(
        view, {.measures = {Measure::kPhiG}, .minimum = SearchOptions{.method = method}});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ((*result)[0].method, method);
    EXPECT_FALSE((*result)[0].exact);
    EXPECT_GE((*result)[0].starts, 10);
  }
}

// 17 variables that share nearly all of their noise with the other 17.
TEST(WindowTest, OtherMeasuresRemainIfPhiGDoesNotConverge) {
  constexpr int kVariables = 34;
  TestingSystem system = RandomSystem(kVariables, 7);
  for (int i = 0; i < kVariables; ++i) {
    for (int j = 0; j < kVariables; ++j) {
      system.noise(i, j) = i == j ? 1.0 : std::abs(i - j) == kVariables / 2 ? 1.0 - 1e-7 : 0.0;
    }
  }
  const auto model = GaussianModel::FromCoupling(system.coupling, system.noise);
  ASSERT_TRUE(model) << model.error().message;
  const WindowOptions options = {
      .measures = {Measure::kStochasticInteraction, Measure::kPhiG, Measure::kPhiStar},
      .partition = *MakeBipartition((std::uint64_t{1} << (kVariables / 2)) - 1, kVariables)};
  const auto result = MeasureModel(*model, options);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->size(), 3U);
  EXPECT_NE((*result)[1].missing.find("no minimum found from 2 starts"), std::string::npos);
  EXPECT_TRUE(std::isnan((*result)[1].value));
  for (const int i : {0, 2}) {
    EXPECT_TRUE((*result)[static_cast<std::size_t>(i)].missing.empty());
    EXPECT_GT((*result)[static_cast<std::size_t>(i)].value, 0.0);
  }
}

TEST(WindowTest, UsesTheGivenPartition) {
  const auto values = Simulated(RandomSystem(3, 5), 100, 6);
  const SeriesView view = {values.data(), 100, 3, 3};
  const auto result =
      MeasureWindow(view, {.measures = {Measure::kPhiR}, .partition = *ParsePartition("0,2|1", 3)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)[0].partition->Text(), "0,2|1");
  EXPECT_FALSE(
      MeasureWindow(view, {.measures = {Measure::kPhiR}, .partition = *AtomicPartition(3)}));
  EXPECT_FALSE(MeasureWindow(
      view, {.measures = {Measure::kMultiInformation}, .partition = *AtomicPartition(4)}));
}

}  // namespace window_test
}  // namespace reveza::phi
