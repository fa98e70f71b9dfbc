#include "phi/measures/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "phi/measures/measures.h"
#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace estimate_test {

std::string ErrorOf(const Result<Estimate>& estimate) {
  return estimate ? "" : estimate.error().message;
}

SeriesView ViewOf(const std::vector<double>& values, int variables) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / variables, variables,
          variables};
}

TEST(EstimateTest, CovariancesOfFourRowsByHand) {
  // One variable 1, 3, 2, 6: past (1, 3, 2) about 2, present (3, 2, 6) about 11/3.
  const std::vector<double> values = {1, 3, 2, 6, 1};
  const auto estimate = EstimateModel(ViewOf(values, 1), {});
  ASSERT_TRUE(estimate) << estimate.error().message;
  EXPECT_EQ(estimate->samples, 4);
  // Past 1, 3, 2, 6 about 3, present 3, 2, 6, 1 about 3: moments 14, 14, and -2*0 + 0*-1 + -1*3 +
  // 3*-2 = -9.
  EXPECT_NEAR(estimate->model.joint()(0, 1), -9.0 / 14.0, 1e-15);
  EXPECT_NEAR(estimate->model.log_variances()[0], std::log(14.0 / 4.0), 1e-15);
}

TEST(EstimateTest, LongSeriesConvergeToTheSystem) {
  const TestingSystem system = RandomSystem(3, 5);
  const auto exact = GaussianModel::FromCoupling(system.coupling, system.noise);
  const auto values = Simulated(system, 200000, 1);
  const auto estimate = EstimateModel(ViewOf(values, 3), {});
  ASSERT_TRUE(estimate) << estimate.error().message;
  const auto partition = *ParsePartition("0,2|1", 3);
  for (const Measure measure : kAllMeasures) {
    const double value = *Evaluate(*exact, partition, measure);
    EXPECT_NEAR(*Evaluate(estimate->model, partition, measure), value, 0.02 * (0.2 + value))
        << NameOf(measure);
  }
}

TEST(EstimateTest, ScalesBeyondTheRangeOfSquares) {
  const auto values = Simulated(RandomSystem(3, 5), 100, 3);
  const auto plain = EstimateModel(ViewOf(values, 3), {});
  ASSERT_TRUE(plain);
  const auto partition = *AtomicPartition(3);
  for (const double unit : {1e-161, 1e-300, 1e200, 1e307}) {
    std::vector<double> scaled = values;
    for (double& value : scaled) value *= unit;
    const auto estimate = EstimateModel(ViewOf(scaled, 3), {});
    ASSERT_TRUE(estimate) << unit << ": " << estimate.error().message;
    EXPECT_NEAR(*Evaluate(estimate->model, partition, Measure::kStochasticInteraction),
                *Evaluate(plain->model, partition, Measure::kStochasticInteraction), 1e-12)
        << unit;
    EXPECT_NEAR(estimate->model.log_variances()[0],
                plain->model.log_variances()[0] + 2 * std::log(unit), 1e-9);
  }
}

TEST(EstimateTest, ReportsSeriesTooShortForMaxOrder) {
  const auto values = Simulated(RandomSystem(2, 5), 30, 3);
  const auto order = BestOrder(std::vector{ViewOf(values, 2)}, 1, 10, OrderCriterion::kAic);
  ASSERT_FALSE(order);
  EXPECT_NE(order.error().message.find("--max-order"), std::string::npos);
  EXPECT_EQ(order.error().message.find("--shrinkage"), std::string::npos);
}

TEST(EstimateTest, DoesNotPairAcrossTrials) {
  const auto values = Simulated(RandomSystem(2, 6), 300, 2);
  const SeriesView all = ViewOf(values, 2);
  const std::vector<SeriesView> trials = {all.Part(0, 100), all.Part(100, 200)};
  const auto estimate = EstimateModel(trials, {.lag = 2});
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->samples, 98 + 198);
}

TEST(EstimateTest, FindsTheOrderOfAnAutoregression) {
  // x(t) = 0.5 x(t-1) - 0.4 x(t-3) + e, beside a variable that only listens.
  const auto noise = Simulated({Matrix(2, 2), Matrix::Identity(2)}, 5000, 3);
  std::vector<double> values = noise;
  for (std::size_t t = 3; t < 5000; ++t) {
    values[2 * t] += 0.5 * values[2 * (t - 1)] - 0.4 * values[2 * (t - 3)];
    values[2 * t + 1] += 0.5 * values[2 * (t - 1)];
  }
  const SeriesView view = ViewOf(values, 2);
  EXPECT_EQ(BestOrder(std::span(&view, 1), 1, 6, OrderCriterion::kBic), 3);
  EXPECT_GE(*BestOrder(std::span(&view, 1), 1, 6, OrderCriterion::kAic), 3);
  EXPECT_FALSE(BestOrder(std::span(&view, 1), 1, 0, OrderCriterion::kAic));
}

TEST(EstimateTest, ShrinkageAllowsShortSeries) {
  const auto values = Simulated(RandomSystem(8, 7), 12, 4);
  const SeriesView view = ViewOf(values, 8);
  EXPECT_NE(ErrorOf(EstimateModel(view, {})).find("too short: 11 pairs"), std::string::npos);
  const auto estimate =
      EstimateModel(view, {.shrinkage = {.kind = Shrinkage::Kind::kAutomatic, .amount = 0}});
  ASSERT_TRUE(estimate) << estimate.error().message;
  EXPECT_GT(estimate->shrinkage, 0.05);
  EXPECT_LT(estimate->shrinkage, 1.0);
}

TEST(EstimateTest, AutomaticShrinkageFallsWithTheNumberOfRows) {
  const auto values = Simulated(RandomSystem(4, 8), 4000, 5);
  const EstimateOptions options = {.shrinkage = {.kind = Shrinkage::Kind::kAutomatic, .amount = 0}};
  const auto few = EstimateModel(ViewOf(values, 4).Part(0, 50), options);
  const auto many = EstimateModel(ViewOf(values, 4), options);
  EXPECT_GT(few->shrinkage, 10.0 * many->shrinkage);
}

TEST(EstimateTest, FullShrinkageRemovesCorrelations) {
  const auto values = Simulated(RandomSystem(3, 9), 100, 6);
  const auto estimate = EstimateModel(
      ViewOf(values, 3), {.shrinkage = {.kind = Shrinkage::Kind::kAmount, .amount = 1.0}});
  EXPECT_EQ(*Evaluate(estimate->model, *AtomicPartition(3), Measure::kInformation), 0.0);
  EXPECT_FALSE(EstimateModel(ViewOf(values, 3),
                             {.shrinkage = {.kind = Shrinkage::Kind::kAmount, .amount = 1.5}}));
}

TEST(EstimateTest, ReportsInvalidSeries) {
  std::vector<double> values = Simulated(RandomSystem(2, 10), 50, 7);
  const SeriesView view = ViewOf(values, 2);
  EXPECT_NE(ErrorOf(EstimateModel(view, {.lag = 0})).find("must be at least 1"), std::string::npos);
  EXPECT_NE(ErrorOf(EstimateModel(view, {.lag = 60})).find("too short: 0 pairs"),
            std::string::npos);
  // The number of columns neither overflows nor exhausts memory.
  const EstimateOptions long_past = {.order = 2'000'000'000};
  EXPECT_NE(ErrorOf(EstimateModel(view, long_past)).find("4000000002 columns"), std::string::npos);
  EXPECT_FALSE(BestOrder(std::span(&view, 1), 1, 2'000'000'000, OrderCriterion::kAic));
  values[21] = std::nan("");
  EXPECT_NE(ErrorOf(EstimateModel(view, {})).find("row 10 of variable 1 is nan"),
            std::string::npos);
  for (std::size_t t = 0; t < 50; ++t) values[2 * t + 1] = 0.1;
  EXPECT_EQ(ErrorOf(EstimateModel(view, {})),
            "variable 1 is constant (0.1); choose others with --columns");
  for (std::size_t t = 0; t < 50; ++t) values[2 * t + 1] = 3.0 * values[2 * t];
  EXPECT_NE(ErrorOf(EstimateModel(view, {})).find("singular"), std::string::npos);
  EXPECT_FALSE(EstimateModel(std::span<const SeriesView>(), {}));
}

}  // namespace estimate_test
}  // namespace reveza::phi
