#include "runner/report/metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace reveza::runner {
namespace {

TEST(MetricSummary, SaysLeastMeanMostAndFinal) {
  MetricSummary phi;
  phi.Add(1, 0.5);
  phi.Add(3, 0.25);
  phi.Add(2, 0.75);
  EXPECT_EQ(
      phi,
      (MetricSummary{
          .count = 3, .least = 0.25, .mean = 0.5, .most = 0.75, .final = 0.25, .final_number = 3}));
}

TEST(MetricSummary, KeepsNegativeAndHugeValues) {
  MetricSummary loss;
  loss.Add(1, -4);
  loss.Add(2, -2);
  EXPECT_EQ(loss.most, -2);
  EXPECT_EQ(loss.least, -4);
  MetricSummary huge;
  huge.Add(1, std::numeric_limits<double>::max());
  huge.Add(2, std::numeric_limits<double>::lowest());
  EXPECT_EQ(huge.mean, 0);
}

TEST(MetricSummary, IsTheSameHoweverItIsMerged) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    MetricSummary whole;
    std::vector<MetricSummary> parts(1 + round % 5);
    for (int i = 0; i < 50; ++i) {
      const auto number = random() % 40;  // some twice
      const double value = static_cast<double>(random()) / 1e6;
      whole.Add(number, value);
      parts[random() % parts.size()].Add(number, value);
    }
    MetricSummary merged;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) merged.Merge(*part);
    EXPECT_NEAR(merged.mean, whole.mean, 1e-9 * whole.mean);
    merged.mean = whole.mean;
    EXPECT_EQ(merged, whole);
  }
}

TEST(Metrics, KeepsEachNameInTheOrderOfComing) {
  Metrics metrics;
  metrics.Add(1, std::vector<Metric>{{"phi", 1}, {"loss", 4}});
  metrics.Add(2, std::vector<Metric>{{"loss", 2}});
  ASSERT_EQ(metrics.all().size(), 2);
  EXPECT_EQ(metrics.all()[0].name, "phi");
  EXPECT_EQ(metrics.Find("loss")->mean, 3);
  EXPECT_EQ(metrics.Find("phi")->count, 1);
  EXPECT_EQ(metrics.Find("psi"), nullptr);
  Metrics other;
  other.Add(7, std::vector<Metric>{{"loss", 0}, {"psi", 5}});
  metrics.Merge(other);
  EXPECT_EQ(metrics.Find("loss")->final, 0);
  EXPECT_EQ(metrics.Find("loss")->count, 3);
  EXPECT_EQ(metrics.Find("psi")->final_number, 7);
}

TEST(Metrics, BoundsTheNumberOfNames) {
  Metrics metrics;
  for (std::uint64_t i = 0; i < Metrics::kMostNames + 10; ++i) {
    metrics.Add(i, std::vector<Metric>{{"m" + std::to_string(i), 1}});
  }
  EXPECT_EQ(metrics.all().size(), Metrics::kMostNames);
  EXPECT_EQ(metrics.left_out(), 10);
  Metrics other;
  other.Add(1, std::vector<Metric>{{"late", 1}, {"m0", 9}});
  metrics.Merge(other);
  EXPECT_EQ(metrics.left_out(), 11);
  EXPECT_EQ(metrics.Find("m0")->most, 9);
}

}  // namespace
}  // namespace reveza::runner
