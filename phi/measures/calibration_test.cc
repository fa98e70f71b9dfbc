// How often surrogates call independent series significant: the table of docs/phi.md. For each kind
// of surrogate and of series, p <= 0.05 of a calibrated test holds for a twentieth of the series.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/significance.h"
#include "phi/measures/testing_signals.h"

namespace reveza::phi {
namespace calibration_test {

constexpr int kSeries = 400;
constexpr int kSurrogates = 39;  // p <= 0.05: the value is among the highest two of forty
constexpr int kThreads = 2;

struct Case {
  std::string name;
  Signal (*signal)();
  int trials;
  int rows;                           // of a trial
  std::optional<SurrogateKind> kind;  // default: that of `auto`
  double most = 0.0;                  // percent of the series with p <= 0.05
  int fewest_rows = 0;                // of a trial, if they have different lengths up to `rows`
  double missing = 0.0;               // share of the rows, at random
};

std::string NameOfKind(const Case& one) {
  return one.kind ? std::string(NameOf(*one.kind)) : "auto";
}

void PrintTo(const Case& one, std::ostream* to) { *to << one.name << ", " << NameOfKind(one); }

// Returns the stretches of the trials between missing rows.
std::vector<SeriesView> StretchesOf(const std::vector<std::vector<double>>& values, int variables,
                                    const Case& one, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<SeriesView> stretches;
  for (const auto& trial : values) {
    const auto all = static_cast<std::int64_t>(trial.size()) / variables;
    const std::int64_t length = one.fewest_rows > 0 ? std::uniform_int_distribution<std::int64_t>(
                                                          one.fewest_rows, one.rows)(engine)
                                                    : all;
    const SeriesView view = {trial.data(), length, variables, variables};
    std::int64_t begin = 0;
    for (std::int64_t t = 0; t <= length; ++t) {
      const bool ends = t == length || std::bernoulli_distribution(one.missing)(engine);
      if (ends && t > begin) stretches.push_back(view.Part(begin, t - begin));
      if (ends) begin = t + 1;
    }
  }
  return stretches;
}

SurrogateKind KindFor(const Case& one, std::span<const SeriesView> stretches) {
  if (one.kind) return *one.kind;
  return *ParseSurrogateKind("auto", stretches, static_cast<std::size_t>(one.trials));
}

// Three and a half standard deviations above 5 %.
constexpr double kCalibrated = 8.8;
// As many below it: a test that never rejects is no test.
constexpr double kLeast = 1.2;
// Where surrogates are too alike: few periods of slowly varying amplitude, or ends that do not
// meet.
constexpr double kLiberal = 15.0;

class CalibrationTest : public testing::TestWithParam<Case> {};

TEST_P(CalibrationTest, IndependentSeriesAreRarelySignificant) {
  const Case& one = GetParam();
  const WindowOptions options = {
      .measures = {Measure::kMultiInformation, Measure::kStochasticInteraction,
                   Measure::kWholeMinusSum, Measure::kPhiR, Measure::kPhiG, Measure::kPhiStar},
      .partition = *AtomicPartition(2)};
  std::vector<std::vector<double>> p(kSeries);
  ParallelFor(kThreads, p.size(), [&] {
    return [&](std::size_t i) {
      const auto values = IndependentSignals(one.signal, 2, one.trials, one.rows, 5000 + i);
      const auto trials = StretchesOf(values, 2, one, 5000 + i);
      const auto measured = MeasureWindow(trials, options);
      if (!measured) return;
      const auto tests =
          TestAgainstSurrogates(trials, options, *measured,
                                {.kind = KindFor(one, trials), .count = kSurrogates, .seed = i});
      if (!tests) return;
      for (const auto& test : *tests) p[i].push_back(test->p);
    };
  });
  std::string line = fmt::format("{:<30} {:<7}", one.name, NameOfKind(one));
  for (std::size_t measure = 0; measure < options.measures.size(); ++measure) {
    int significant = 0;
    for (const auto& of_series : p) {
      ASSERT_EQ(of_series.size(), options.measures.size());
      if (of_series[measure] <= 0.05) ++significant;
    }
    const double percent = 100.0 * significant / kSeries;
    line += fmt::format(" {} {:.1f}", NameOf(options.measures[measure]), percent);
    EXPECT_LE(percent, one.most) << NameOf(options.measures[measure]);
    EXPECT_GE(percent, kLeast) << NameOf(options.measures[measure]);
  }
  fmt::print("{} %\n", line);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const SurrogateKind kind :
       {SurrogateKind::kShift, SurrogateKind::kPhase, SurrogateKind::kIaaft}) {
    cases.push_back({"white", White, 1, 256, kind, kCalibrated});
    cases.push_back({"slow", Slow, 1, 256, kind, kCalibrated});
    cases.push_back({"narrow band", NarrowBand, 1, 256, kind, kLiberal});
    cases.push_back({"heavy-tailed", HeavyTailed, 1, 256, kind, kCalibrated});
    cases.push_back({"slow, 30 trials of 20", Slow, 30, 20, kind,
                     kind == SurrogateKind::kShift ? kCalibrated : kLiberal});
  }
  cases.push_back({"slow, 30 trials of 20", Slow, 30, 20, SurrogateKind::kTrials, kCalibrated});
  cases.push_back(
      {"narrow band, 30 trials of 20", NarrowBand, 30, 20, SurrogateKind::kTrials, kCalibrated});
  cases.push_back(
      {"heavy-tailed, 30 trials of 20", HeavyTailed, 30, 20, SurrogateKind::kTrials, kCalibrated});
  cases.push_back({"slow, 30 trials of 20 to 200", Slow, 30, 200, {}, kCalibrated, 20});
  cases.push_back({"slow, 30 trials of 110, 1 % missing", Slow, 30, 110, {}, kCalibrated, 0, 0.01});
  cases.push_back({"slow, 1000 rows, 1 % missing", Slow, 1, 1000, {}, kCalibrated, 0, 0.01});
  return cases;
}

// Six autoregressions of 0.5, each of which drives the next one weakly.
std::vector<std::vector<double>> CoupledTrials(int trials, int rows, std::uint64_t seed) {
  constexpr std::size_t kVariables = 6;
  constexpr int kBurnIn = 30;
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> made;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double>& values = made.emplace_back();
    std::vector<double> now(kVariables);
    for (int t = 0; t < kBurnIn + rows; ++t) {
      const std::vector<double> last = now;
      for (std::size_t i = 0; i < kVariables; ++i) {
        now[i] = 0.5 * last[i] + 0.04 * last[(i + 1) % kVariables] + normal(engine);
      }
      if (t >= kBurnIn) values.insert(values.end(), now.begin(), now.end());
    }
  }
  return made;
}

// Of trials of one length, nearly all of these are significant; of as many rows in unequal trials
// or between gaps too, if surrogates have no fewer rows than the series.
TEST(PowerTest, WeakCouplingIsSignificantInTrialsOfAnyLengths) {
  constexpr std::size_t kCoupled = 40;
  const WindowOptions options = {.measures = {Measure::kStochasticInteraction}};
  for (const Case& one : {Case{"30 trials of 110", nullptr, 30, 110, SurrogateKind::kTrials},
                          Case{"30 trials of 110", nullptr, 30, 110, SurrogateKind::kShift},
                          Case{"30 trials of 20 to 200", nullptr, 30, 200, {}, 0.0, 20},
                          Case{"30 trials of 110, 1 % missing", nullptr, 30, 110, {}, 0.0, 0, 0.01},
                          Case{"3300 rows, 1 % missing", nullptr, 1, 3300, {}, 0.0, 0, 0.01}}) {
    std::vector<double> p(kCoupled, 1.0);
    ParallelFor(kThreads, kCoupled, [&] {
      return [&](std::size_t i) {
        const auto values = CoupledTrials(one.trials, one.rows, 100 + i);
        const auto trials = StretchesOf(values, 6, one, 100 + i);
        const auto measured = MeasureWindow(trials, options);
        if (!measured) return;
        const auto tests =
            TestAgainstSurrogates(trials, options, *measured,
                                  {.kind = KindFor(one, trials), .count = kSurrogates, .seed = i});
        if (tests) p[i] = tests->front()->p;
      };
    });
    const auto significant = std::ranges::count_if(p, [](double value) { return value <= 0.05; });
    fmt::print("{:<30} {:<7} {} of {} coupled series significant\n", one.name, NameOfKind(one),
               significant, kCoupled);
    EXPECT_GE(significant, 26) << one.name << ", " << NameOfKind(one);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, CalibrationTest, testing::ValuesIn(Cases()));

}  // namespace calibration_test
}  // namespace reveza::phi
