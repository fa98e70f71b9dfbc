#include "phi/measures/continuous_transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "phi/measures/granger.h"
#include "phi/measures/nearest_neighbours.h"
#include "phi/measures/significance.h"
#include "phi/measures/testing_jidt.h"
#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace continuous_transfer_test {

using Options = ContinuousTransferOptions;
using Estimator = Options::Estimator;

SeriesView ViewOf(const std::vector<double>& values, int variables) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / variables, variables,
          variables};
}

std::vector<double> JidtSeries() {
  std::vector<double> values;
  for (const auto& row : kJidtSeries) values.insert(values.end(), row.begin(), row.end());
  return values;
}

// Parses "0,1|2|" into sources, targets and given.
TransferColumns ColumnsOf(std::string_view text) {
  TransferColumns columns;
  std::vector<int>* of[] = {&columns.sources, &columns.targets, &columns.given};
  std::size_t at = 0;
  for (const char letter : text) {
    if (letter == '|') ++at;
    if (letter >= '0' && letter <= '9') of[at]->push_back(letter - '0');
  }
  return columns;
}

// The source is the same in all trials, so that the sources of other trials give the same value.
TEST(ContinuousTransferTest, PermutesTrials) {
  constexpr std::int64_t kLength = 40;
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  std::vector<double> source;
  for (int t = 0; t < kLength; ++t) source.push_back(normal(engine));
  std::vector<std::vector<double>> values(6);
  std::vector<SeriesView> trials;
  for (auto& trial : values) {
    for (std::size_t t = 0; t < kLength; ++t) {
      trial.push_back(source[t]);
      trial.push_back(normal(engine) + (t > 0 ? source[t - 1] : 0.0));
    }
    trials.push_back({trial.data(), kLength, 2, 2});
  }
  const TransferColumns columns = {.sources = {0}, .targets = {1}};
  for (const Estimator estimator : {Estimator::kGauss, Estimator::kKsg}) {
    Options options = {.estimator = estimator, .source_history = 2, .surrogates = 19};
    options.surrogate = SurrogateKind::kTrials;
    const auto permuted = ContinuousTransferOf(trials, columns, options);
    ASSERT_TRUE(permuted) << permuted.error().message;
    EXPECT_EQ(permuted->p, 1.0);
    EXPECT_NEAR(*permuted->null_mean, permuted->nats, 1e-12);
    options.surrogate = SurrogateKind::kShift;
    EXPECT_EQ(ContinuousTransferOf(trials, columns, options)->p, 1.0 / 20);
    options.surrogate = SurrogateKind::kPhase;
    EXPECT_FALSE(ContinuousTransferOf(trials, columns, options));
  }
  // A surrogate of fewer rows than the data would be more biased.
  trials.back().length = kLength / 2;
  EXPECT_FALSE(ContinuousTransferOf(trials, columns,
                                    {.surrogates = 19, .surrogate = SurrogateKind::kTrials}));
}

TEST(ContinuousTransferTest, MatchesJidt) {
  const std::vector<double> values = JidtSeries();
  const SeriesView view = ViewOf(values, 3);
  std::map<std::string_view, int> compared;
  for (const JidtValue& expected : kJidtValues) {
    if (expected.estimator == "discrete") continue;
    const Options options = {
        .estimator = expected.estimator == "gauss" ? Estimator::kGauss : Estimator::kKsg,
        .target_history = expected.target_history,
        .source_history = expected.source_history,
        .delay = expected.delay,
        .window = expected.window};
    const auto found =
        ContinuousTransferOf(std::span(&view, 1), ColumnsOf(expected.columns), options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_NEAR(found->nats, expected.nats, 1e-10)
        << expected.estimator << " " << expected.columns << " " << expected.target_history
        << expected.source_history << expected.delay << ", window " << expected.window;
    ++compared[expected.estimator];
  }
  EXPECT_EQ(compared["gauss"], 17);
  EXPECT_EQ(compared["ksg"], 47);
}

TEST(ContinuousTransferTest, GaussIsHalfOfGrangerCausality) {
  const TestingSystem system = RandomSystem(4, 3);
  const std::vector<double> values = Simulated(system, 300, 1);
  const SeriesView view = ViewOf(values, 4);
  const auto estimate = EstimateModel(view, {.order = 2});
  const Options options = {.target_history = 2, .source_history = 2};
  const auto granger = GrangerOf(estimate->model, GrangerKind::kConditional, estimate->samples);
  const auto found = ContinuousTransferOf(std::span(&view, 1), ColumnsOf("0|1|2,3"), options);
  EXPECT_EQ(found->samples, estimate->samples);
  EXPECT_NEAR(found->nats, TransferEntropyOf(granger.causality(0, 1)), 1e-10);
  EXPECT_NEAR(*found->p, (*granger.p)(0, 1), 1e-8);
  const auto pair = GrangerOf(estimate->model, GrangerKind::kPair, estimate->samples);
  EXPECT_NEAR(ContinuousTransferOf(std::span(&view, 1), ColumnsOf("0|1|"), options)->nats,
              TransferEntropyOf(pair.causality(0, 1)), 1e-10);
}

TEST(ContinuousTransferTest, SetsObeyTheChainRule) {
  // I(Y; A, B | Z) = I(Y; A | Z) + I(Y; B | Z, A), the histories being equal.
  const std::vector<double> values = Simulated(RandomSystem(4, 8), 400, 1);
  const SeriesView view = ViewOf(values, 4);
  const auto nats = [&](std::string_view columns) {
    return ContinuousTransferOf(std::span(&view, 1), ColumnsOf(columns), {.source_history = 2})
        ->nats;
  };
  EXPECT_NEAR(nats("0,1|2|3"), nats("0|2|3") + nats("1|2|0,3"), 1e-10);
}

TEST(ContinuousTransferTest, GivenOthersRemoveIndirectInfluence) {
  // 0 drives 1 drives 2.
  const TestingSystem system = {.coupling = {{.8, 0, 0}, {.7, 0, 0}, {0, .7, .2}},
                                .noise = Matrix::Identity(3)};
  const std::vector<double> values = Simulated(system, 2000, 4);
  const SeriesView view = ViewOf(values, 3);
  for (const Estimator estimator : {Estimator::kGauss, Estimator::kKsg}) {
    const Options options = {.estimator = estimator};
    const auto alone = ContinuousTransferOf(std::span(&view, 1), ColumnsOf("0|2|"), options);
    const auto given = ContinuousTransferOf(std::span(&view, 1), ColumnsOf("0|2|1"), options);
    EXPECT_GT(alone->nats, 0.05);
    EXPECT_LT(given->nats, 0.03);
  }
}

TEST(ContinuousTransferTest, KsgFindsWhatGaussDoesNot) {
  // The target follows the square of the source.
  std::mt19937_64 engine(2);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double before = 0.0;
  for (int t = 0; t < 1000; ++t) {
    const double source = normal(engine);
    values.insert(values.end(), {source, before * before + 0.3 * normal(engine)});
    before = source;
  }
  const SeriesView view = ViewOf(values, 2);
  const auto find = [&](Estimator estimator, std::string_view columns) {
    return ContinuousTransferOf(std::span(&view, 1), ColumnsOf(columns),
                                {.estimator = estimator, .surrogates = 19});
  };
  EXPECT_LT(find(Estimator::kGauss, "0|1|")->nats, 0.02);
  const auto found = find(Estimator::kKsg, "0|1|");
  EXPECT_GT(found->nats, 0.5);
  EXPECT_EQ(found->p, 0.05);
  EXPECT_LT(*found->null_mean, 0.05);
  EXPECT_FALSE(found->corrected);
  EXPECT_GT(find(Estimator::kKsg, "1|0|")->p, 0.05);
}

TEST(ContinuousTransferTest, NearestNeighboursFindTheInformationOfGaussians) {
  // x and y with correlation .6 given z.
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal;
  ConditionedPoints points = {.conditions = 1, .targets = 1, .sources = 1, .values = {}};
  for (int i = 0; i < 4000; ++i) {
    const double z = normal(engine);
    const double y = normal(engine);
    const double x = 0.6 * y + 0.8 * normal(engine);
    points.values.insert(points.values.end(), {z, y + z, x - z});
  }
  EXPECT_NEAR(*NearestNeighbourInformation(points, 4), -0.5 * std::log(1 - .36), 0.05);
}

// By all pairs of points. Points are of trials of equal length.
double Directly(const ConditionedPoints& points, int neighbours, std::int64_t window) {
  const int width = points.width();
  const auto distance = [&](std::int64_t i, std::int64_t j, int begin, int end) {
    double most = 0.0;
    for (int column = begin; column < end; ++column) {
      most = std::max(
          most, std::abs(points.values[i * width + column] - points.values[j * width + column]));
    }
    return most;
  };
  const auto length = points.count() / static_cast<std::int64_t>(points.trials.size());
  const auto excluded = [&](std::int64_t i, std::int64_t j) {
    return i / length == j / length && std::abs(i - j) <= window;
  };
  const int y = points.conditions;
  const int x = y + points.targets;
  double sum = 0.0;
  for (std::int64_t i = 0; i < points.count(); ++i) {
    std::vector<double> all;
    for (std::int64_t j = 0; j < points.count(); ++j) {
      if (!excluded(i, j)) all.push_back(distance(i, j, 0, width));
    }
    std::ranges::sort(all);
    const double radius = all[static_cast<std::size_t>(neighbours - 1)];
    int in_z = 0, in_yz = 0, in_xz = 0;
    for (std::int64_t j = 0; j < points.count(); ++j) {
      if (excluded(i, j) || distance(i, j, 0, y) >= radius) continue;
      ++in_z;
      if (distance(i, j, y, x) < radius) ++in_yz;
      if (distance(i, j, x, width) < radius) ++in_xz;
    }
    sum += Digamma(in_z + 1) - Digamma(in_yz + 1) - Digamma(in_xz + 1);
  }
  return Digamma(neighbours) + sum / static_cast<double>(points.count());
}

TEST(ContinuousTransferTest, TreesCompareAllThatMatters) {
  std::mt19937_64 engine(6);
  std::normal_distribution<double> normal;
  for (const int neighbours : {1, 3, 10}) {
    for (const std::int64_t window : {0, 1, 20}) {
      ConditionedPoints points = {.conditions = 2, .targets = 1, .sources = 2, .values = {}};
      points.trials = {0, 50, 100};
      for (int i = 0; i < 150 * 5; ++i) points.values.push_back(normal(engine));
      EXPECT_NEAR(*NearestNeighbourInformation(points, neighbours, window),
                  Directly(points, neighbours, window), 1e-12);
    }
  }
}

TEST(ContinuousTransferTest, WindowRemovesNeighboursInTime) {
  // A trajectory that hardly moves between rows and is never near to itself again has neighbours
  // in time only: without a window, they pass for information.
  std::vector<double> values;
  for (int t = 0; t < 400; ++t) {
    values.insert(values.end(), {0.01 * t + 1e-4 * std::sin(31.0 * t), std::cos(0.02 * t)});
  }
  const SeriesView view = ViewOf(values, 2);
  const auto nats = [&](std::int64_t window) {
    return ContinuousTransferOf(std::span(&view, 1), ColumnsOf("0|1|"),
                                {.estimator = Estimator::kKsg, .window = window})
        ->nats;
  };
  EXPECT_GT(std::abs(nats(0) - nats(20)), 0.1);
}

TEST(ContinuousTransferTest, TrialsAreNotPairedAcross) {
  const std::vector<double> values = JidtSeries();
  const SeriesView view = ViewOf(values, 3);
  const std::vector<SeriesView> trials = {view.Part(0, 90), view.Part(90, 110)};
  for (const Estimator estimator : {Estimator::kGauss, Estimator::kKsg}) {
    const auto found = ContinuousTransferOf(
        trials, ColumnsOf("0|1|2"),
        {.estimator = estimator, .target_history = 2, .delay = 3, .surrogates = 9});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->samples, 200 - 2 * 3);
    EXPECT_TRUE(found->p);
  }
}

TEST(ContinuousTransferTest, PIsUniformWithoutInfluence) {
  // Of two independent series with memory: how many p are at most 0.1, of 200.
  int chi_square = 0;
  int shifted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const TestingSystem system = {.coupling = {{.7, 0}, {0, .7}}, .noise = Matrix::Identity(2)};
    const std::vector<double> values = Simulated(system, 200, seed);
    const SeriesView view = ViewOf(values, 2);
    const auto p = [&](int surrogates) {
      return *ContinuousTransferOf(std::span(&view, 1), ColumnsOf("0|1|"),
                                   {.surrogates = surrogates})
                  ->p;
    };
    if (p(0) <= 0.1) ++chi_square;
    if (p(19) <= 0.1) ++shifted;
  }
  // 20 and three standard errors.
  EXPECT_NEAR(chi_square, 20, 13);
  EXPECT_NEAR(shifted, 20, 13);
}

TEST(ContinuousTransferTest, BiasIsRemoved) {
  double plain = 0.0;
  double corrected = 0.0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const TestingSystem system = {.coupling = {{.3, 0}, {0, .3}}, .noise = Matrix::Identity(2)};
    const std::vector<double> values = Simulated(system, 60, seed);
    const SeriesView view = ViewOf(values, 2);
    const auto found =
        ContinuousTransferOf(std::span(&view, 1), ColumnsOf("0|1|"), {.source_history = 3});
    plain += found->nats / 200;
    corrected += *found->corrected / 200;
  }
  EXPECT_GT(plain, 0.02);
  EXPECT_LT(std::abs(corrected), 0.005);
}

TEST(ContinuousTransferTest, RejectsWhatHasNoMeaning) {
  const std::vector<double> values = JidtSeries();
  const SeriesView view = ViewOf(values, 3);
  const auto fails = [&](std::string_view columns, const Options& options,
                         std::string_view message) {
    const auto found = ContinuousTransferOf(std::span(&view, 1), ColumnsOf(columns), options);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find(message), std::string::npos) << found.error().message;
  };
  fails("0|0|", {.names = {"a", "b", "c"}}, "'a' is used twice");
  fails("0|1|1", {}, "variable 1 is used twice");
  fails("0||1", {}, "a source and a target");
  fails("0|3|", {}, "out of range");
  fails("0|1|", {.delay = 0}, "at least 1");
  fails("0|1|", {.target_history = 150, .source_history = 150}, "too short");
  fails("0|1|", {.estimator = Estimator::kKsg, .neighbours = 500}, "too few");
  fails("0|1|", {.estimator = Estimator::kKsg, .window = 198}, "smaller window");
  std::vector<double> equal(60, 1.0);
  const SeriesView flat = ViewOf(equal, 2);
  EXPECT_FALSE(ContinuousTransferOf(std::span(&flat, 1), ColumnsOf("0|1|"), {}));
  for (std::size_t i = 0; i < equal.size(); ++i) equal[i] = static_cast<double>(i % 3 % 2);
  EXPECT_FALSE(
      ContinuousTransferOf(std::span(&flat, 1), ColumnsOf("0|1|"), {.estimator = Estimator::kKsg}));
}

TEST(AdjustedPTest, IsThatOfBenjaminiAndHochberg) {
  // The 15 p-values of their section 3.2: at a rate of 0.05 four are rejected.
  const std::vector<double> p = {.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344,
                                 .0459, .3240, .4262, .5719, .6528, .7590, 1.0};
  const std::vector<double> adjusted = AdjustedP(p);
  EXPECT_NEAR(adjusted[0], .0015, 1e-12);
  EXPECT_NEAR(adjusted[3], .035625, 1e-12);
  EXPECT_EQ(std::ranges::count_if(adjusted, [](double q) { return q <= 0.05; }), 4);
  EXPECT_EQ(adjusted.back(), 1.0);
  // Adjusted values keep the order, also of unsorted and equal ones.
  const std::vector<double> mixed = AdjustedP(std::vector<double>{.04, .01, .04, .03});
  EXPECT_EQ(mixed, (std::vector<double>{.04, .04, .04, .04}));
  EXPECT_TRUE(AdjustedP({}).empty());
}

// A shifted source is two trials that overlap by what the past needs: the first ends where the
// source does, and the second begins with its first row.
TEST(ContinuousTransferTest, NoPastSpansTheSeamOfASurrogate) {
  constexpr int kRows = 60;
  std::mt19937_64 engine(8);
  std::normal_distribution<double> normal;
  std::vector<double> source, target;
  for (int t = 0; t < kRows; ++t) {
    source.push_back(normal(engine));
    target.push_back(normal(engine));
  }
  ContinuousTransferOptions options = {.source_history = 2, .surrogates = 1};
  std::vector<double> values;
  for (int t = 0; t < kRows; ++t) values.insert(values.end(), {source[t], target[t]});
  const SeriesView whole = {values.data(), kRows, 2, 2};
  const TransferColumns columns = {.sources = {0}, .targets = {1}};
  const auto surrogate = ContinuousTransferOf({&whole, 1}, columns, options);
  ASSERT_TRUE(surrogate) << surrogate.error().message;
  options.surrogates = 0;
  double closest = HUGE_VAL;
  for (int shift = 3; shift <= kRows - 3; ++shift) {
    std::vector<double> first, second;
    for (int t = 0; t <= kRows - shift; ++t) {
      // The source of the last row is not used.
      first.insert(first.end(), {t + shift < kRows ? source[t + shift] : 0.0, target[t]});
    }
    for (int t = kRows - shift; t < kRows; ++t) {
      second.insert(second.end(), {source[t + shift - kRows], target[t]});
    }
    const std::vector<SeriesView> pieces = {{first.data(), kRows - shift + 1, 2, 2},
                                            {second.data(), shift, 2, 2}};
    const auto found = ContinuousTransferOf(pieces, columns, options);
    ASSERT_TRUE(found) << found.error().message;
    closest = std::min(closest, std::abs(found->nats - *surrogate->null_mean));
  }
  EXPECT_LT(closest, 1e-12);
}

}  // namespace continuous_transfer_test
}  // namespace reveza::phi
