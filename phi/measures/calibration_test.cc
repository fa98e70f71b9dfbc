// How often surrogates call independent series significant: the table of docs/phi.md. For each kind
// of surrogate and of series, p <= 0.05 of a calibrated test holds for a twentieth of the series.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/significance.h"

namespace reveza::phi {
namespace calibration_test {

constexpr int kSeries = 400;
constexpr int kSurrogates = 39;  // p <= 0.05: the value is among the highest two of forty
constexpr int kThreads = 2;

// Makes one row of a signal after another.
using Signal = std::function<double(std::mt19937_64&)>;

Signal White() {
  return [normal = std::normal_distribution<double>()](auto& engine) mutable {
    return normal(engine);
  };
}

Signal Slow() {
  return [x = 0.0, normal = std::normal_distribution<double>()](auto& engine) mutable {
    return x = 0.9 * x + normal(engine);
  };
}

// A resonance of a tenth of the sampling rate, with a bandwidth of a hundredth.
Signal NarrowBand() {
  constexpr double kRadius = 0.97;
  return [x = 0.0, last = 0.0, normal = std::normal_distribution<double>()](auto& engine) mutable {
    const double next = 2 * kRadius * std::cos(0.2 * std::numbers::pi) * x -
                        kRadius * kRadius * last + normal(engine);
    last = x;
    return x = next;
  };
}

// Slow, with large jumps.
Signal HeavyTailed() {
  return [x = 0.0, noise = std::student_t_distribution<double>(2.0)](auto& engine) mutable {
    return x = 0.7 * x + noise(engine);
  };
}

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
// Where surrogates are too alike: few periods of slowly varying amplitude, or ends that do not
// meet.
constexpr double kLiberal = 15.0;

// Two independent signals in trials.
std::vector<std::vector<double>> Independent(const Case& one, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::vector<double>> trials;
  for (int trial = 0; trial < one.trials; ++trial) {
    Signal signals[] = {one.signal(), one.signal()};
    for (int t = 0; t < 200; ++t) {
      for (Signal& signal : signals) signal(engine);
    }
    std::vector<double>& values = trials.emplace_back();
    for (int t = 0; t < one.rows; ++t) {
      for (Signal& signal : signals) values.push_back(signal(engine));
    }
  }
  return trials;
}

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
      const auto values = Independent(one, 5000 + i);
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
