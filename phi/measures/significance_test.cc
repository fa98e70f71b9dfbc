#include "phi/measures/significance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace significance_test {

SeriesView ViewOf(const std::vector<double>& values, int variables) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / variables, variables,
          variables};
}

TestingSystem IndependentNoise(int variables) {
  return {.coupling = Matrix(variables, variables), .noise = Matrix::Identity(variables)};
}

TEST(LongMemoriesTest, AreThoseBeyondTheHistory) {
  std::mt19937_64 engine(4);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double slow = 0.0;
  double now = 0.0;
  double last = 0.0;
  for (int t = 0; t < 2000; ++t) {
    slow = 0.8 * slow + normal(engine);
    const double next = 1.5 * now - 0.9 * last + normal(engine);
    last = now;
    now = next;
    values.insert(values.end(), {normal(engine), slow, now, 1.0});
  }
  // Two trials; what is between them does not count.
  const SeriesView all = {values.data(), 2000, 4, 4};
  const std::vector<SeriesView> trials = {all.Part(0, 900), all.Part(900, 1100)};
  const auto none = LongMemories(trials, 0);
  EXPECT_EQ(none[0], 0.0);
  EXPECT_NEAR(none[1], 0.8, 0.05);
  EXPECT_NEAR(none[2], 1.5 / 1.9, 0.05);
  EXPECT_EQ(none[3], 0.0);
  const auto one = LongMemories(trials, 1);
  EXPECT_EQ(one[1], 0.0);
  EXPECT_NEAR(one[2], -0.9, 0.05);
  EXPECT_EQ(LongMemories(trials, 2)[2], 0.0);
  EXPECT_EQ(LongMemories(trials, 5000)[1], 0.0);
  const std::vector<std::string> names = {"white", "slow", "wave", "flat"};
  EXPECT_NE(BiasNote(trials, names).find("'slow' has an autocorrelation of 0."), std::string::npos);
}

TEST(DigammaTest, ValuesOfTables) {
  EXPECT_NEAR(Digamma(1.0), -std::numbers::egamma, 1e-14);
  EXPECT_NEAR(Digamma(0.5), -std::numbers::egamma - 2.0 * std::numbers::ln2, 1e-14);
  EXPECT_NEAR(Digamma(10.0), 2.2517525890667211, 1e-14);
}

TEST(FourierTest, MatchesTheDefinitionAndInverts) {
  for (const std::size_t size : {1UL, 2UL, 8UL, 3UL, 7UL, 100UL}) {
    std::vector<std::complex<double>> values(size);
    for (std::size_t t = 0; t < size; ++t) {
      values[t] = {std::sin(1.0 + static_cast<double>(t * t)), static_cast<double>(t % 5)};
    }
    const auto transformed = FourierTransform(values, false);
    const auto again = FourierTransform(transformed, true);
    for (std::size_t k = 0; k < size; ++k) {
      std::complex<double> sum = 0.0;
      for (std::size_t t = 0; t < size; ++t) {
        sum += values[t] *
               std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(k * t % size) /
                                   static_cast<double>(size));
      }
      EXPECT_LT(std::abs(transformed[k] - sum), 1e-11 * static_cast<double>(size));
      EXPECT_LT(std::abs(again[k] - values[k]), 1e-12);
    }
  }
}

TEST(BiasTest, MatchesTheMeanOfIndependentNoise) {
  constexpr int kVariables = 4;
  constexpr int kLength = 40;
  constexpr int kSeries = 2000;
  const Partition partition = *ParsePartition("0,1|2,3", kVariables);
  const auto exact = GaussianModel::FromCoupling(Matrix(4, 4), Matrix::Identity(4));
  for (const Measure measure :
       {Measure::kInformation, Measure::kMultiInformation, Measure::kStochasticInteraction,
        Measure::kWholeMinusSum, Measure::kPhiG}) {
    double mean = 0.0;
    for (int i = 0; i < kSeries; ++i) {
      const auto values =
          Simulated(IndependentNoise(kVariables), kLength, 1000 + static_cast<unsigned>(i));
      const auto estimate = EstimateModel(ViewOf(values, kVariables), {});
      mean += *Evaluate(estimate->model, partition, measure) / kSeries;
    }
    const double bias = *BiasOf(*exact, partition, measure, kLength - 1);
    // Wilks' theorem holds for many samples only.
    EXPECT_NEAR(mean, bias, (measure == Measure::kPhiG ? 0.25 : 0.1) * std::abs(bias) + 0.004)
        << NameOf(measure);
  }
  EXPECT_FALSE(BiasOf(*exact, partition, Measure::kPhiStar, 100));
  EXPECT_FALSE(BiasOf(*exact, partition, Measure::kInformation, 8));
}

WindowOptions Interaction() { return {.measures = {Measure::kStochasticInteraction}}; }

TEST(SurrogateTest, DetectCouplingOnlyIfPresent) {
  for (const SurrogateKind kind : {SurrogateKind::kShift, SurrogateKind::kPhase,
                                   SurrogateKind::kIaaft, SurrogateKind::kTrials}) {
    const auto coupled = Simulated({{{.4, .4}, {.4, .4}}, Matrix::Identity(2)}, 300, 11);
    const auto alone = Simulated({{{.8, 0}, {0, .8}}, Matrix::Identity(2)}, 300, 12);
    for (const auto* values : {&coupled, &alone}) {
      std::vector<SeriesView> trials = {ViewOf(*values, 2)};
      if (kind == SurrogateKind::kTrials) {
        const SeriesView whole = trials.front();
        trials.clear();
        for (int trial = 0; trial < 10; ++trial) trials.push_back(whole.Part(30L * trial, 30));
      }
      const auto measured = MeasureWindow(trials, Interaction());
      const auto test = TestAgainstSurrogates(trials, Interaction(), *measured,
                                              {.kind = kind, .count = 99, .seed = 5, .threads = 2});
      ASSERT_TRUE(test) << test.error().message;
      const Significance& significance = *test->front();
      EXPECT_EQ(significance.surrogates, 99);
      if (values == &coupled) {
        EXPECT_EQ(significance.p, 0.01);
        EXPECT_GT(measured->front().value, significance.null_high);
      } else {
        EXPECT_GT(significance.p, 0.05);
      }
      EXPECT_LT(significance.null_mean, 0.05);
    }
  }
}

TEST(SurrogateTest, OneWithoutAValueLeavesTheTestAndTheIntervalEmpty) {
  const Significance tested = SignificanceOf(0.5, {0.1, 0.7, 0.2});
  EXPECT_EQ(tested.p, 0.5);
  EXPECT_EQ(tested.missing, "");
  const Significance without = SignificanceOf(0.5, {0.1, NAN, 0.2});
  EXPECT_TRUE(std::isnan(without.p));
  EXPECT_TRUE(std::isnan(without.null_mean));
  EXPECT_EQ(without.surrogates, 3);
  EXPECT_NE(without.missing.find("1 of 3"), std::string::npos) << without.missing;
  EXPECT_EQ(IntervalOf(0.5, {0.4, 0.4, 0.4}, 7).low, 0.6);
  const Interval none = IntervalOf(0.5, {NAN, 0.4, NAN}, 7);
  EXPECT_TRUE(std::isnan(none.low) && std::isnan(none.high));
  EXPECT_NE(none.missing.find("2 of 3"), std::string::npos) << none.missing;
}

TEST(SurrogateTest, DoNotDependOnThreads) {
  const auto values = Simulated(RandomSystem(3, 20), 100, 13);
  const SeriesView view = ViewOf(values, 3);
  const auto measured = MeasureWindow(view, Interaction());
  std::vector<double> means;
  for (const int threads : {1, 3}) {
    for (const std::uint64_t seed : {1, 2}) {
      const auto test = TestAgainstSurrogates(std::span(&view, 1), Interaction(), *measured,
                                              {.count = 20, .seed = seed, .threads = threads});
      means.push_back(test->front()->null_mean);
    }
  }
  EXPECT_EQ(means[0], means[2]);
  EXPECT_EQ(means[1], means[3]);
  EXPECT_NE(means[0], means[1]);
}

Result<std::vector<Interval>> IntervalsOf(const SeriesView& view, const BootstrapOptions& options) {
  const auto measured = MeasureWindow(view, Interaction());
  EXPECT_TRUE(measured);
  return BootstrapIntervals(std::span(&view, 1), Interaction(), *measured, options);
}

TEST(BootstrapTest, IntervalsOfFourVariablesCoverTheTrueValue) {
  const TestingSystem system = RandomSystem(4, 77);
  const auto exact = GaussianModel::FromCoupling(system.coupling, system.noise);
  const double value = *Evaluate(*exact, *AtomicPartition(4), Measure::kStochasticInteraction);
  constexpr int kSeries = 60;
  int held = 0;
  for (unsigned i = 0; i < kSeries; ++i) {
    const auto values = Simulated(system, 500, 700 + i);
    const auto intervals = IntervalsOf(ViewOf(values, 4), {.count = 200, .threads = 2});
    ASSERT_TRUE(intervals) << intervals.error().message;
    if (intervals->front().low < value && value < intervals->front().high) ++held;
  }
  EXPECT_GE(held, kSeries * 9 / 10);
}

TEST(BootstrapTest, IntervalsCoverTheTrueValue) {
  const TestingSystem system = {{{.4, .4}, {.4, .4}}, Matrix::Identity(2)};
  int held = 0;
  for (unsigned i = 0; i < 20; ++i) {
    const auto values = Simulated(system, 1000, 100 + i);
    const SeriesView view = ViewOf(values, 2);
    const auto intervals = IntervalsOf(view, {.count = 200, .threads = 2});
    ASSERT_TRUE(intervals) << intervals.error().message;
    EXPECT_EQ(intervals->front().block, 10);
    if (intervals->front().low < 0.211309 && 0.211309 < intervals->front().high) ++held;
  }
  EXPECT_GE(held, 16);
}

TEST(BootstrapTest, RejectsBlockLongerThanTheData) {
  const auto values = Simulated(RandomSystem(2, 30), 50, 15);
  const SeriesView view = ViewOf(values, 2);
  const auto intervals = IntervalsOf(view, {.count = 10, .block = 50});
  ASSERT_FALSE(intervals);
  EXPECT_EQ(intervals.error().code, Error::Code::kInvalidArgument);
  EXPECT_NE(intervals.error().message.find("--block: 50 pairs"), std::string::npos);
}

}  // namespace significance_test
}  // namespace reveza::phi
