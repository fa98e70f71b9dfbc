#include "runner/decide/scalability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace reveza::runner {
namespace {

std::vector<ScalabilityPoint> Curve(double lambda, double sigma, double kappa, int most,
                                    double noise = 0, unsigned seed = 1) {
  const Scalability law{.lambda = lambda, .sigma = sigma, .kappa = kappa};
  std::mt19937 random(seed);
  std::vector<ScalabilityPoint> points;
  for (int n = 1; n <= most; ++n) {
    const double factor = std::exp(std::normal_distribution<double>(0, 1)(random) * noise);
    points.push_back({.workers = 1.0 * n, .rate = law.At(n) * factor});
  }
  return points;
}

TEST(FitScalability, FindsTheLawInExactFigures) {
  const auto fit = FitScalability(Curve(2, 0.1, 0.1, 8));
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->lambda, 2, 1e-6);
  EXPECT_NEAR(fit->sigma, 0.1, 1e-6);
  EXPECT_NEAR(fit->kappa, 0.1, 1e-6);
  EXPECT_NEAR(fit->peak.value(), 3, 1e-4);
  EXPECT_NEAR(fit->error, 0, 1e-6);
  EXPECT_TRUE(fit->good);
}

TEST(FitScalability, FindsItNearlyInNoisyFigures) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const auto fit = FitScalability(Curve(10, 0.04, 0.002, 40, 0.03, seed));
    ASSERT_TRUE(fit.has_value());
    EXPECT_TRUE(fit->good);
    EXPECT_NEAR(fit->peak.value(), std::sqrt(0.96 / 0.002), 5) << seed;
  }
}

TEST(FitScalability, NeedsSixDifferentNumbers) {
  EXPECT_EQ(FitScalability({}), std::nullopt);
  EXPECT_EQ(FitScalability(Curve(1, 0.1, 0.1, 5)), std::nullopt);
  auto points = Curve(1, 0.1, 0.1, 5);
  points.push_back(points.back());
  points.push_back({.workers = 6, .rate = 0});
  points.push_back({.workers = 7, .rate = 1, .weight = 0});
  points.push_back({.workers = 0, .rate = 1});
  EXPECT_EQ(FitScalability(points), std::nullopt);
}

TEST(FitScalability, HasNoPeakWhereNobodyDisturbsAnother) {
  const auto fit = FitScalability(Curve(3, 0.05, 0, 12));
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->sigma, 0.05, 1e-6);
  EXPECT_EQ(fit->peak, std::nullopt);
  // More than in proportion: neither is below 0.
  std::vector<ScalabilityPoint> points;
  for (int n = 1; n <= 8; ++n) points.push_back({.workers = 1.0 * n, .rate = std::pow(n, 1.05)});
  const auto super = FitScalability(points);
  ASSERT_TRUE(super.has_value());
  EXPECT_EQ(super->sigma, 0);
  EXPECT_EQ(super->kappa, 0);
}

TEST(FitScalability, WeighsWhatWasMeasuredLonger) {
  auto points = Curve(1, 0.1, 0.02, 10);
  points[9].rate *= 3;
  points[9].weight = 1e-6;
  const auto fit = FitScalability(points);
  EXPECT_NEAR(fit->kappa, 0.02, 1e-3);
}

TEST(FitScalability, SaysWhenNoLawFits) {
  std::vector<ScalabilityPoint> points;
  for (int n = 1; n <= 8; ++n)
    points.push_back({.workers = 1.0 * n, .rate = n % 2 == 0 ? 5.0 : 1.0});
  const auto fit = FitScalability(points);
  ASSERT_TRUE(fit.has_value());
  EXPECT_FALSE(fit->good);
  EXPECT_TRUE(ScalabilityText(*fit, 8).starts_with("no law of scaling fits"))
      << ScalabilityText(*fit, 8);
}

TEST(ScalabilityText, SaysWhy) {
  EXPECT_EQ(
      ScalabilityText(*FitScalability(Curve(2, 0.1, 0.1, 8)), 8),
      "peak at 3, because workers queue for 10 % of the work and each pair of workers disturbs the "
      "others by 10 %; one alone makes 2 steps/s (measured within 0.1 %)");
  EXPECT_EQ(ScalabilityText(*FitScalability(Curve(2, 0, 0.02, 8)), 8),
            "peak at 7, because each pair of workers disturbs the others by 2 %; one alone makes 2 "
            "steps/s (measured within 0.1 %)");
  EXPECT_EQ(
      ScalabilityText(*FitScalability(Curve(2, 0.1, 0, 8)), 8),
      "no peak up to 8, but each worker brings less than the last, because workers queue for 10 % "
      "of the work; one alone makes 2 steps/s (measured within 0.1 %)");
  EXPECT_EQ(
      ScalabilityText(*FitScalability(Curve(2, 0.001, 0, 8)), 8),
      "no peak up to 8: 8 workers make nearly 8 times as much; one alone makes 2 steps/s (measured "
      "within 0.1 %)");
  EXPECT_EQ(
      ScalabilityText(*FitScalability(Curve(0.01, 1, 0, 8)), 8, "cycles"),
      "more workers bring nothing, because workers queue for 100 % of the work; one alone makes 36 "
      "cycles/h (measured within 0.1 %)");
}

}  // namespace
}  // namespace reveza::runner
