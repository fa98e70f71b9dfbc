// How often O-information, PhiID and transfer entropy call independent series significant: the
// tables of docs/phi.md and docs/phi-discrete.md. p <= 0.05 of a calibrated test holds for a
// twentieth.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/continuous_transfer.h"
#include "phi/measures/multiplets.h"
#include "phi/measures/phiid.h"
#include "phi/measures/testing_signals.h"

namespace reveza::phi {
namespace group_calibration_test {

constexpr std::size_t kSeries = 400;
constexpr int kSurrogates = 39;  // p <= 0.05: the value is among the highest two of forty
constexpr int kThreads = 2;
constexpr int kVariables = 5;
// Three and a half standard deviations above 5 %.
constexpr double kCalibrated = 8.8;
// As many below it: a test that never rejects is no test.
constexpr double kLeast = 1.2;

struct Case {
  std::string name;
  Signal (*signal)();
  int trials;
  int rows;         // of a trial
  int history = 1;  // of source and target
  double most_by_chi_square = kCalibrated;
  double most_by_surrogates = kCalibrated;
  double most_of_atoms = kCalibrated;
};

// The chi-square distribution takes for granted that the histories leave independent residuals: the
// narrow-band signal, an autoregression of order 2, has none with histories of 1. With histories of
// 2 it has few independent fluctuations for any test.
std::vector<Case> Cases() {
  constexpr double kLiberal = 15.0;
  constexpr double kWrong = 100.0;
  return {{"white", White, 1, 256},
          {"slow", Slow, 1, 256, 1, kLiberal},
          {"narrow band", NarrowBand, 1, 256, 1, kWrong, kCalibrated, kLiberal},
          {"narrow band", NarrowBand, 1, 256, 2, kLiberal, kLiberal},
          {"heavy-tailed", HeavyTailed, 1, 256},
          {"slow, 30 trials of 20", Slow, 30, 20}};
}

std::vector<SeriesView> ViewsOf(const std::vector<std::vector<double>>& values, int rows,
                                int variables = kVariables) {
  std::vector<SeriesView> views;
  for (const auto& trial : values) views.push_back({trial.data(), rows, variables, variables});
  return views;
}

// Returns which percentage of all series has a p of 0.05 or less.
double Percent(const std::vector<double>& p) {
  std::size_t significant = 0;
  for (const double value : p) significant += value <= 0.05 ? 1 : 0;
  return 100.0 * static_cast<double>(significant) / static_cast<double>(p.size());
}

void PrintTo(const Case& one, std::ostream* to) { *to << one.name; }

class GroupCalibrationTest : public testing::TestWithParam<Case> {};

TEST_P(GroupCalibrationTest, IndependentVariablesAreRarelySignificant) {
  const Case& one = GetParam();
  if (one.history > 1) GTEST_SKIP() << "has no histories";
  constexpr int kOrder = 3;
  std::string line = fmt::format("{:<22}", one.name);
  for (const bool copula : {false, true}) {
    std::array<std::vector<double>, 3> p;  // highest o, lowest o, highest tc
    for (auto& values : p) values.resize(kSeries, 0.0);
    ParallelFor(kThreads, kSeries, [&] {
      return [&](std::size_t i) {
        const auto values =
            IndependentSignals(one.signal, kVariables, one.trials, one.rows, 9000 + i);
        const auto views = ViewsOf(values, one.rows);
        const MultipletOptions options = {.copula = copula};
        const auto kind = *ParseSurrogateKind("auto", views, views.size());
        const auto null =
            MultipletNull::Of(views, options, {.kind = kind, .count = kSurrogates, .seed = i});
        const auto measured = MeasureMultiplets(views, options);
        if (!null || !measured) return;
        const auto order = measured->multiplets.Orders()[kOrder - 2];
        p[0][i] = null->P(MultipletMeasure::kOInformation, kOrder, order.highest[0].value, false);
        p[1][i] = null->P(MultipletMeasure::kOInformation, kOrder, order.lowest[0].value, true);
        p[2][i] =
            null->P(MultipletMeasure::kTotalCorrelation, kOrder, order.highest[2].value, false);
      };
    });
    line += fmt::format(" {}", copula ? "copula" : "gauss");
    for (const auto& values : p) {
      line += fmt::format(" {:.1f}", Percent(values));
      EXPECT_LE(Percent(values), kCalibrated);
      EXPECT_GE(Percent(values), kLeast);
    }
  }
  fmt::print("{} %\n", line);
}

TEST_P(GroupCalibrationTest, NoInfluenceIsRarelySignificant) {
  const Case& one = GetParam();
  using Estimator = ContinuousTransferOptions::Estimator;
  std::string line = fmt::format("{:<22} histories of {}:", one.name, one.history);
  for (const auto& [name, options] :
       {std::pair{"chi-square", ContinuousTransferOptions{}},
        std::pair{"gauss", ContinuousTransferOptions{.surrogates = kSurrogates}},
        std::pair{"ksg", ContinuousTransferOptions{.estimator = Estimator::kKsg,
                                                   .surrogates = kSurrogates}}}) {
    for (const bool given : {false, true}) {
      std::vector<double> p(kSeries, 0.0);
      ParallelFor(kThreads, kSeries, [&] {
        return [&](std::size_t i) {
          const auto values =
              IndependentSignals(one.signal, kVariables, one.trials, one.rows, 9000 + i);
          const auto views = ViewsOf(values, one.rows);
          ContinuousTransferOptions seeded = options;
          seeded.seed = i;
          seeded.surrogate = *ParseSurrogateKind("auto", views, views.size());
          seeded.source_history = seeded.target_history = one.history;
          TransferColumns columns = {.sources = {0}, .targets = {1}};
          if (given) columns.given = {2};
          const auto found = ContinuousTransferOf(views, columns, seeded);
          if (found) p[i] = *found->p;
        };
      });
      line += fmt::format(" {}{} {:.1f}", name, given ? ", given" : "", Percent(p));
      EXPECT_LE(Percent(p),
                options.surrogates > 0 ? one.most_by_surrogates : one.most_by_chi_square)
          << name;
      EXPECT_GE(Percent(p), kLeast) << name;
    }
  }
  fmt::print("{} %\n", line);
}

TEST_P(GroupCalibrationTest, AtomsOfIndependentPartsAreRarelySignificant) {
  const Case& one = GetParam();
  if (one.history > 1) GTEST_SKIP() << "has no histories";
  std::string line = fmt::format("{:<22}", one.name);
  for (const auto redundancy : {PhiIdRedundancy::kMmi, PhiIdRedundancy::kCcs}) {
    std::vector<std::vector<double>> p(kPhiIdAtoms.size(), std::vector<double>(kSeries, 0.0));
    ParallelFor(kThreads, kSeries, [&] {
      return [&](std::size_t i) {
        const auto values = IndependentSignals(one.signal, 2, one.trials, one.rows, 9000 + i);
        const auto views = ViewsOf(values, one.rows, 2);
        const PhiIdOptions options = {.redundancy = redundancy};
        const auto found = DecomposeSeries(views, options);
        if (!found) return;
        const auto tests = TestPhiId(views, options, found->mean,
                                     {.kind = *ParseSurrogateKind("auto", views, views.size()),
                                      .count = kSurrogates,
                                      .seed = i});
        for (std::size_t atom = 0; tests && atom < p.size(); ++atom) {
          p[atom][i] = (*tests)[atom] ? (*tests)[atom]->p : 1.0;
        }
      };
    });
    line += fmt::format(" {}", NameOf(redundancy));
    double highest = 0.0;
    for (std::size_t atom = 0; atom < p.size(); ++atom) {
      const double percent = Percent(p[atom]);
      line += fmt::format(" {} {:.1f}", kPhiIdAtoms[atom], percent);
      EXPECT_LE(percent, one.most_of_atoms) << kPhiIdAtoms[atom];
      highest = std::max(highest, percent);
      // These have no test.
      if (kPhiIdAtoms[atom] == "xtx" || kPhiIdAtoms[atom] == "yty") continue;
      if (redundancy == PhiIdRedundancy::kCcs) {
        EXPECT_GE(percent, kLeast) << kPhiIdAtoms[atom];
      }
    }
    // By mmi, transfer between parts with memory is never above that of surrogates.
    EXPECT_GE(highest, kLeast) << NameOf(redundancy);
  }
  fmt::print("{} %\n", line);
}

INSTANTIATE_TEST_SUITE_P(Table, GroupCalibrationTest, testing::ValuesIn(Cases()));

}  // namespace group_calibration_test
}  // namespace reveza::phi
