#include "reveza/jobs/report/tuning_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace reveza::jobs {
namespace tuning_text_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TunerRow Row(unsigned workers, double rate, double gain, std::optional<Bytes> memory = {}) {
  return {.workers = workers, .rate = rate, .gain = gain, .steps = 100, .memory = memory};
}

TEST(TuningTable, ShowsMeasurements) {
  EXPECT_EQ(TuningTable({}, 1, 8), "");
  const std::vector<TunerRow> rows = {Row(1, 3.04, 0, 512 * kMiB), Row(2, 5.51, 0.81, kGiB),
                                      Row(3, 6.1, 1.007), Row(4, 2.9, -0.046)};
  EXPECT_EQ("\n" + TuningTable(rows, 3, 8), R"(
  workers      steps/s     gain     memory
        1         3.04             512 MiB
        2         5.51    +81 %      1 GiB
>       3          6.1   +101 %          -
        4          2.9     -5 %          -
)");
}

TEST(TuningTable, UsesSameUnitInAllRows) {
  const std::vector<TunerRow> rows = {Row(1, 0.5, 0), Row(2, 1.5, 2)};
  EXPECT_EQ("\n" + TuningTable(rows, 9, 8), R"(
  workers      steps/s     gain     memory
        1          0.5                   -
        2          1.5   +200 %          -
)");
}

TEST(TuningTable, ExplainsPeakFromSixRows) {
  std::vector<TunerRow> rows;
  for (unsigned n = 1; n <= 6; ++n) {
    rows.push_back(Row(n, n / (1 + 0.1 * (n - 1) + 0.1 * n * (n - 1)), 0));
    const std::string text = TuningTable(rows, 3, 6);
    EXPECT_EQ(text.find("peak at 3, because") != std::string::npos, n == 6) << text;
  }
}

TEST(TuningTable, SingleRowIsALine) {
  EXPECT_EQ(
      SingleCountText(Row(2, 3.04, 0), "no more than 2 may run at once"),
      "only one number of workers was measured: 2 (3 steps/s), because no more than 2 may run "
      "at once\n");
}

TEST(TuningLog, ShowsDecisionsWithTimes) {
  const std::vector<Decision> log = {
      {seconds(11), 1, 2, "2 workers: tried"},
      {seconds(75) + milliseconds(300), 2, 2, "2 workers: 5.5 steps/s, 1 gave 3: kept"}};
  EXPECT_EQ("\n" + TuningLog(log, seconds(10)), R"(
         1 s  2 workers: tried
   1 min 5 s  2 workers: 5.5 steps/s, 1 gave 3: kept
)");
  EXPECT_EQ(TuningLog({}, seconds(10)), "");
}

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

TEST(FitScalability, RecoversExactParameters) {
  const auto fit = FitScalability(Curve(2, 0.1, 0.1, 8));
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->lambda, 2, 1e-6);
  EXPECT_NEAR(fit->sigma, 0.1, 1e-6);
  EXPECT_NEAR(fit->kappa, 0.1, 1e-6);
  EXPECT_NEAR(fit->peak.value(), 3, 1e-4);
  EXPECT_NEAR(fit->error, 0, 1e-6);
  EXPECT_TRUE(fit->good);
}

TEST(FitScalability, ApproximatesNoisyData) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const auto fit = FitScalability(Curve(10, 0.04, 0.002, 40, 0.03, seed));
    ASSERT_TRUE(fit.has_value());
    EXPECT_TRUE(fit->good);
    EXPECT_NEAR(fit->peak.value(), std::sqrt(0.96 / 0.002), 5) << seed;
  }
}

TEST(FitScalability, NeedsSixDistinctPoints) {
  EXPECT_EQ(FitScalability({}), std::nullopt);
  EXPECT_EQ(FitScalability(Curve(1, 0.1, 0.1, 5)), std::nullopt);
  auto points = Curve(1, 0.1, 0.1, 5);
  points.push_back(points.back());
  points.push_back({.workers = 6, .rate = 0});
  points.push_back({.workers = 7, .rate = 1, .weight = 0});
  points.push_back({.workers = 0, .rate = 1});
  EXPECT_EQ(FitScalability(points), std::nullopt);
}

TEST(FitScalability, NoPeakWithoutCoherencyCost) {
  const auto fit = FitScalability(Curve(3, 0.05, 0, 12));
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->sigma, 0.05, 1e-6);
  EXPECT_EQ(fit->peak, std::nullopt);
  // Superlinear: parameters are clamped to 0.
  std::vector<ScalabilityPoint> points;
  for (int n = 1; n <= 8; ++n) points.push_back({.workers = 1.0 * n, .rate = std::pow(n, 1.05)});
  const auto super = FitScalability(points);
  ASSERT_TRUE(super.has_value());
  EXPECT_EQ(super->sigma, 0);
  EXPECT_EQ(super->kappa, 0);
}

TEST(FitScalability, UsesWeights) {
  auto points = Curve(1, 0.1, 0.02, 10);
  points[9].rate *= 3;
  points[9].weight = 1e-6;
  const auto fit = FitScalability(points);
  EXPECT_NEAR(fit->kappa, 0.02, 1e-3);
}

TEST(FitScalability, ReportsBadFit) {
  std::vector<ScalabilityPoint> points;
  for (int n = 1; n <= 8; ++n)
    points.push_back({.workers = 1.0 * n, .rate = n % 2 == 0 ? 5.0 : 1.0});
  const auto fit = FitScalability(points);
  ASSERT_TRUE(fit.has_value());
  EXPECT_FALSE(fit->good);
  EXPECT_TRUE(ScalabilityText(*fit, 8).starts_with("no law of scaling fits"))
      << ScalabilityText(*fit, 8);
}

TEST(ScalabilityText, ExplainsCauses) {
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
      ScalabilityText(*FitScalability(Curve(0.01, 1, 0, 8)), 8),
      "more workers bring nothing, because workers queue for 100 % of the work; one alone makes 36 "
      "steps/h (measured within 0.1 %)");
}

}  // namespace tuning_text_test
}  // namespace reveza::jobs
