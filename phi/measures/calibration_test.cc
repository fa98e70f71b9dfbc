// How often surrogates call independent series significant: the table of docs/phi.md. For each kind
// of surrogate and of series, p <= 0.05 of a calibrated test holds for a twentieth of the series.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
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
  int rows;  // of a trial
  SurrogateKind kind;
  double most;  // percent of the series with p <= 0.05
};

void PrintTo(const Case& one, std::ostream* to) { *to << one.name << ", " << NameOf(one.kind); }

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
      std::vector<SeriesView> trials;
      for (const auto& trial : values) trials.push_back({trial.data(), one.rows, 2, 2});
      const auto measured = MeasureWindow(trials, options);
      if (!measured) return;
      const auto tests = TestAgainstSurrogates(trials, options, *measured,
                                               {.kind = one.kind, .count = kSurrogates, .seed = i});
      if (!tests) return;
      for (const auto& test : *tests) p[i].push_back(test->p);
    };
  });
  std::string line = fmt::format("{:<30} {:<7}", one.name, NameOf(one.kind));
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
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Table, CalibrationTest, testing::ValuesIn(Cases()));

}  // namespace calibration_test
}  // namespace reveza::phi
