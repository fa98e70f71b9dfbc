// How often transfer entropies of counts, and from nearest neighbours with a Theiler window, call
// independent series significant: columns of the table in docs/phi-discrete.md. p <= 0.05 of a
// calibrated test holds for a twentieth.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/testing_signals.h"
#include "phi/series/transfers.h"

namespace reveza::phi {
namespace transfer_calibration_test {

constexpr std::size_t kSeries = 400;
constexpr int kSurrogates = 39;  // p <= 0.05: the value is among the highest two of forty
constexpr int kThreads = 2;
constexpr int kVariables = 3;
constexpr int kRows = 256;
// Three and a half standard deviations above 5 %.
constexpr double kCalibrated = 8.8;
// As many below it: a test that never rejects is no test.
constexpr double kLeast = 1.2;

struct Case {
  std::string name;
  Signal (*signal)();
  int history = 1;  // of source and target
};

void PrintTo(const Case& one, std::ostream* to) { *to << one.name; }

class TransferCalibrationTest : public testing::TestWithParam<Case> {};

// Returns the percentage of series whose first column is said to influence the second, given the
// third or nothing.
double Significant(const Case& one, TransferRequest request, bool given) {
  request.columns = {.sources = {0}, .targets = {1}};
  if (given) request.columns.given = {2};
  request.options.source_history = request.options.target_history = one.history;
  request.options.surrogates = kSurrogates;
  std::vector<double> p(kSeries, 0.0);
  ParallelFor(kThreads, kSeries, [&] {
    return [&, seeded = request](std::size_t i) mutable {
      seeded.options.seed = i;
      const auto values = IndependentSignals(one.signal, kVariables, 1, kRows, 9000 + i);
      const SeriesView view = {values.front().data(), kRows, kVariables, kVariables};
      const auto found = TransfersOf({&view, 1}, {"a", "b", "c"}, seeded);
      if (found) p[i] = *found->front().p;
    };
  });
  std::size_t significant = 0;
  for (const double value : p) significant += value <= 0.05 ? 1 : 0;
  return 100.0 * static_cast<double>(significant) / kSeries;
}

TEST_P(TransferCalibrationTest, NoInfluenceIsRarelySignificant) {
  const Case& one = GetParam();
  std::string line = fmt::format("{:<14} histories of {}:", one.name, one.history);
  // Two bins: with more, 256 rows are too few for all joint states.
  const TransferRequest counts = {.bins = 2};
  const TransferRequest nearest = {.estimator = TransferEstimator::kKsg, .window = 20};
  for (const TransferRequest& request : {counts, nearest}) {
    const bool discrete = request.estimator == TransferEstimator::kDiscrete;
    line += discrete ? " discrete" : " ksg with a window";
    for (const bool given : {false, true}) {
      const double percent = Significant(one, request, given);
      line += fmt::format(" {:.1f}", percent);
      EXPECT_LE(percent, kCalibrated) << (discrete ? "discrete" : "ksg");
      EXPECT_GE(percent, kLeast) << (discrete ? "discrete" : "ksg");
    }
  }
  fmt::print("{} %\n", line);
}

INSTANTIATE_TEST_SUITE_P(Table, TransferCalibrationTest,
                         testing::Values(Case{"white", White}, Case{"slow", Slow},
                                         Case{"narrow band", NarrowBand},
                                         Case{"narrow band", NarrowBand, 2},
                                         Case{"heavy-tailed", HeavyTailed}));

}  // namespace transfer_calibration_test
}  // namespace reveza::phi
