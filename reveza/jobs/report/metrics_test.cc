#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "reveza/jobs/report/progress_text.h"

namespace reveza::jobs {
namespace metrics_test {

TEST(MetricSummary, HasMinMeanMaxAndFinal) {
  MetricSummary phi;
  phi.Add(1, 0.5);
  phi.Add(3, 0.25);
  phi.Add(2, 0.75);
  EXPECT_EQ(
      phi,
      (MetricSummary{
          .count = 3, .min = 0.25, .mean = 0.5, .max = 0.75, .final = 0.25, .final_number = 3}));
}

TEST(MetricSummary, KeepsNegativeAndHugeValues) {
  MetricSummary loss;
  loss.Add(1, -4);
  loss.Add(2, -2);
  EXPECT_EQ(loss.max, -2);
  EXPECT_EQ(loss.min, -4);
  MetricSummary huge;
  huge.Add(1, std::numeric_limits<double>::max());
  huge.Add(2, std::numeric_limits<double>::lowest());
  EXPECT_EQ(huge.mean, 0);
}

TEST(MetricSummary, OrderDoesNotMatter) {
  std::mt19937 random(7);
  std::vector<std::pair<std::uint64_t, double>> values;
  for (int i = 0; i < 50; ++i) {  // some numbers twice
    values.emplace_back(random() % 40, static_cast<double>(random()) / 1e6);
  }
  MetricSummary forwards;
  for (const auto& [number, value] : values) forwards.Add(number, value);
  std::ranges::reverse(values);
  MetricSummary backwards;
  for (const auto& [number, value] : values) backwards.Add(number, value);
  EXPECT_NEAR(backwards.mean, forwards.mean, 1e-9 * forwards.mean);
  backwards.mean = forwards.mean;
  EXPECT_EQ(backwards, forwards);
}

TEST(Metrics, KeepsOrderOfFirstAppearance) {
  Metrics metrics;
  metrics.Add(1, std::vector<Metric>{{"phi", 1}, {"loss", 4}});
  metrics.Add(2, std::vector<Metric>{{"loss", 2}});
  ASSERT_EQ(metrics.all().size(), 2);
  EXPECT_EQ(metrics.all()[0].name, "phi");
  EXPECT_EQ(metrics.all()[0].summary.count, 1);
  EXPECT_EQ(metrics.all()[1].summary.mean, 3);
}

TEST(Metrics, BoundsNumberOfNames) {
  Metrics metrics;
  for (std::uint64_t i = 0; i < Metrics::kMaxNames + 10; ++i) {
    metrics.Add(i, std::vector<Metric>{{"m" + std::to_string(i), 1}});
  }
  EXPECT_EQ(metrics.all().size(), Metrics::kMaxNames);
  metrics.Add(1, std::vector<Metric>{{"late", 1}, {"m0", 9}});
  EXPECT_EQ(metrics.all().size(), Metrics::kMaxNames);
  EXPECT_EQ(metrics.all()[0].summary.max, 9);
}

}  // namespace metrics_test
}  // namespace reveza::jobs
