#include "phi/measures/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace measures_test {

double ValueOf(const GaussianModel& model, const Partition& partition, Measure measure) {
  const auto value = Evaluate(model, partition, measure);
  EXPECT_TRUE(value) << value.error().message;
  return value.value_or(std::nan(""));
}

struct Row {
  std::string name;
  Matrix coupling;
  Matrix noise;
  std::string partition;
  std::array<double, 7> values;  // in the order of kAllMeasures
};

// docs/phi.md has the same table. The values were made by a script in plain Python from the same
// formulas, with other algorithms (fixed points and golden sections).
class ReferenceTest : public testing::TestWithParam<Row> {};

TEST_P(ReferenceTest, MatchesTheTable) {
  const Row& row = GetParam();
  const auto model = GaussianModel::FromCoupling(row.coupling, row.noise);
  ASSERT_TRUE(model) << model.error().message;
  const auto partition = ParsePartition(row.partition, model->variables());
  ASSERT_TRUE(partition);
  for (const Measure measure : kAllMeasures) {
    EXPECT_NEAR(ValueOf(*model, *partition, measure), row.values[static_cast<std::size_t>(measure)],
                1e-8)
        << NameOf(measure);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, ReferenceTest,
    testing::Values(
        Row{"all04",
            {{.4, .4}, {.4, .4}},
            {{1, 0}, {0, 1}},
            "0|1",
            {.510825624, .336472237, .211309094, .086145951, .298485787, .205698219, .146814508}},
        Row{"all04Correlated05",
            {{.4, .4}, {.4, .4}},
            {{1, .5}, {.5, 1}},
            "0|1",
            {.510825624, .757685702, .277372429, -.202940844, .153942390, .205698219, .034561824}},
        Row{"all04Correlated09",
            {{.4, .4}, {.4, .4}},
            {{1, .9}, {.9, 1}},
            "0|1",
            {.510825624, 2.169955549, .861287514, -.447380522, .031722551, .205698219, .001243788}},
        Row{"cross",
            {{.2, .5}, {.5, .2}},
            {{1, 0}, {0, 1}},
            "0|1",
            {.383827616, .343005622, .301668314, .260331007, .322079312, .296650923, .268565388}},
        Row{"oneDirection",
            {{.5, 0}, {.5, .5}},
            {{1, 0}, {0, 1}},
            "0|1",
            {.471544463, .171885770, .134831783, .097777797, .106787050, .134831783, .115850211}},
        Row{"decoupled",
            {{.5, 0}, {0, .5}},
            {{1, .5}, {.5, 1}},
            "0|1",
            {.287682072, .287682072, .143841036, 0, .032269261, 0, .049673666}},
        Row{"twoBlocksApart",
            TwoBlocks(),
            Matrix::Identity(4),
            "0,1|2,3",
            {.767655233, 0, 0, 0, 0, 0, 0}},
        Row{"twoBlocksAcross",
            TwoBlocks(),
            Matrix::Identity(4),
            "0,2|1,3",
            {.767655233, .686011244, .603336629, .520662014, .644158623, .593301846, .537130776}}),
    [](const auto& row) { return row.param.name; });

TEST(MeasuresTest, ParsesItsOwnNames) {
  for (const Measure measure : kAllMeasures) EXPECT_EQ(ParseMeasure(NameOf(measure)), measure);
  EXPECT_EQ(ParseMeasures("si,phi_g,si")->size(), 2U);
  EXPECT_EQ(ParseMeasures("all")->size(), kAllMeasures.size());
  EXPECT_NE(ParseMeasures("si,phig").error().message.find("did you mean 'phi_g'"),
            std::string::npos);
  EXPECT_FALSE(ParseMeasures(""));
}

TEST(MeasuresTest, PhiRRequiresTwoParts) {
  const auto model = GaussianModel::FromCoupling(TwoBlocks(), Matrix::Identity(4));
  const auto value = Evaluate(*model, *AtomicPartition(4), Measure::kPhiR);
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message.find("the partition has 4"), std::string::npos);
}

TEST(MeasuresTest, RejectsPartitionOfOtherVariables) {
  const auto model = GaussianModel::FromCoupling(TwoBlocks(), Matrix::Identity(4));
  EXPECT_FALSE(Evaluate(*model, *AtomicPartition(3), Measure::kMultiInformation));
}

// By Newton's method on the determinant, in numbers of 90 digits. The last two are nearly singular.
TEST(PhiG, ConvergesForNearlySharedNoise) {
  struct Case {
    double correlation;
    double value;
    double tolerance;
  };
  for (const auto& [correlation, value, tolerance] :
       {Case{0.9, .0510488119458, 1e-12}, Case{0.99, .0615454103396, 1e-11},
        Case{0.9999, .1055515037164, 1e-10}, Case{0.9999999, .1073560549442, 1e-8},
        Case{0.999999999, .1073578912403, 1e-6}}) {
    const auto model =
        GaussianModel::FromCoupling({{.5, .1}, {.3, .2}}, {{1, correlation}, {correlation, 1}});
    ASSERT_TRUE(model) << model.error().message;
    const auto found = GeometricIntegrationOf(*model, *ParsePartition("0|1", 2));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_NEAR(found->value, value, tolerance) << correlation;
    EXPECT_LT(found->sweeps, 2000) << correlation;
  }
}

// Returns phi_g of two variables by a grid over the first diagonal element of A', given which the
// determinant is a quadratic function of the second.
double PhiGOnGrid(const Matrix& a, const Matrix& noise) {
  const Matrix s = *StationaryCovariance(a, noise);
  const auto profile = [&](double own) {
    const double u = a(0, 0) - own;
    const double v = a(0, 1);
    const double one = noise(0, 0) + u * u * s(0, 0) + 2 * u * v * s(0, 1) + v * v * s(1, 1);
    const double with = u * s(0, 1) + v * s(1, 1);
    const double across = noise(0, 1) + a(1, 0) * (u * s(0, 0) + v * s(0, 1));
    const double square = one * s(1, 1) - with * with;
    const double linear = 2 * one * a(1, 0) * s(0, 1) - 2 * across * with;
    const double constant = one * (noise(1, 1) + a(1, 0) * a(1, 0) * s(0, 0)) - across * across;
    return constant - linear * linear / (4 * square);
  };
  double best = 0.0;
  double least = HUGE_VAL;
  const auto scan = [&](double low, double high, int steps) {
    for (int i = 0; i <= steps; ++i) {
      const double own = low + (high - low) * i / steps;
      if (const double value = profile(own); value < least) {
        least = value;
        best = own;
      }
    }
  };
  scan(-40, 40, 80000);
  scan(best - 1e-3, best + 1e-3, 2000);
  return 0.5 * std::log(least / (noise(0, 0) * noise(1, 1) - noise(0, 1) * noise(0, 1)));
}

// Returns the lowest of many fixed points of generalised least squares, each from random weights.
double PhiGByFixedPoints(const TestingSystem& system, const Partition& partition,
                         std::mt19937_64& engine) {
  constexpr int kStarts = 40;
  constexpr int kSteps = 3000;
  const int size = system.coupling.rows();
  const Matrix past = *StationaryCovariance(system.coupling, system.noise);
  const Matrix target = Product(system.coupling, past);
  std::vector<std::pair<int, int>> free;
  for (const auto& part : partition.parts()) {
    for (const int row : part) {
      for (const int column : part) free.emplace_back(row, column);
    }
  }
  const int count = static_cast<int>(free.size());
  std::normal_distribution<double> normal;
  double best = HUGE_VAL;
  for (int start = 0; start < kStarts; ++start) {
    Matrix factor(size, size);
    for (double& value : factor.values()) value = normal(engine);
    Matrix residual = ProductTransposed(factor, factor);
    double log_determinant = HUGE_VAL;
    for (int step = 0; step < kSteps; ++step) {
      const Matrix weights = SolveCholesky(*Cholesky(residual), Matrix::Identity(size));
      const Matrix right = Product(weights, target);
      Matrix normals(count, count);
      Matrix values(count, 1);
      for (int i = 0; i < count; ++i) {
        values(i, 0) = right(free[i].first, free[i].second);
        for (int j = 0; j < count; ++j) {
          normals(i, j) =
              weights(free[i].first, free[j].first) * past(free[i].second, free[j].second);
        }
      }
      values = SolveCholesky(*Cholesky(normals), values);
      Matrix lost = system.coupling;
      for (int i = 0; i < count; ++i) lost(free[i].first, free[i].second) -= values(i, 0);
      residual = Sum(system.noise, ProductTransposed(Product(lost, past), lost));
      const double now = LogDeterminantOf(*Cholesky(residual));
      if (std::abs(log_determinant - now) < 1e-14) break;
      log_determinant = now;
    }
    best = std::min(best, log_determinant);
  }
  return 0.5 * (best - LogDeterminantOf(*Cholesky(system.noise)));
}

// A random coupling with spectral radius 0.95, and noise of one correlation.
TestingSystem StronglyCoupled(int size, double correlation, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  Matrix coupling(size, size);
  for (double& value : coupling.values()) value = normal(engine);
  const double scale = 0.95 / SpectralRadius(coupling);
  for (double& value : coupling.values()) value *= scale;
  Matrix noise = Matrix::Identity(size);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) noise(i, j) = i == j ? 1.0 : correlation;
  }
  return {.coupling = std::move(coupling), .noise = std::move(noise)};
}

// Many of these systems have several minima, and the regressions of the parts lead to a wrong one.
TEST(PhiG, IsTheLowestMinimumOfTwoVariables) {
  const TestingSystem known = {.coupling = {{-.2, 1.4}, {-.6, -.5}}, .noise = {{1, .93}, {.93, 1}}};
  EXPECT_NEAR(PhiGOnGrid(known.coupling, known.noise), 1.9203923, 1e-6);
  std::mt19937_64 engine(1);
  int several = 0;
  for (int i = 0; i < 200; ++i) {
    const TestingSystem system = i == 0 ? known : StronglyCoupled(2, 0.9, engine);
    const auto model = GaussianModel::FromCoupling(system.coupling, system.noise);
    const auto found = GeometricIntegrationOf(*model, *AtomicPartition(2));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_NEAR(found->value, PhiGOnGrid(system.coupling, system.noise), 1e-6) << i;
    EXPECT_LE(found->at_least, found->value);
    EXPECT_GE(found->starts, 10);
    EXPECT_GE(found->agreed, 1);
    several += found->agreed < found->starts ? 1 : 0;
  }
  EXPECT_GT(several, 10);
}

TEST(PhiG, IsTheLowestMinimumOfFourVariables) {
  std::mt19937_64 engine(2);
  const Partition partition = *ParsePartition("0,1|2,3", 4);
  for (int i = 0; i < 10; ++i) {
    const TestingSystem system = StronglyCoupled(4, 0.95, engine);
    const auto model = GaussianModel::FromCoupling(system.coupling, system.noise);
    const auto found = GeometricIntegrationOf(*model, partition);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_LE(found->value, PhiGByFixedPoints(system, partition, engine) + 1e-7) << i;
  }
}

// Where influence enters one part only, the bound is the value.
TEST(PhiG, AttainsItsBoundForOneDirection) {
  const auto model = GaussianModel::FromCoupling({{.5, 0}, {.5, .5}}, Matrix::Identity(2));
  const auto found = GeometricIntegrationOf(*model, *AtomicPartition(2));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_NEAR(found->at_least, .134831783, 1e-9);
  EXPECT_NEAR(found->value, found->at_least, 1e-9);
  EXPECT_EQ(found->agreed, found->starts);
}

TEST(PhiG, ConvergesForManyModelsOfNearlySharedNoise) {
  std::mt19937_64 engine(3);
  for (int i = 0; i < 50; ++i) {
    const TestingSystem system = StronglyCoupled(2, 0.999999, engine);
    const auto model = GaussianModel::FromCoupling(system.coupling, system.noise);
    ASSERT_TRUE(model) << model.error().message;
    const auto found = GeometricIntegrationOf(*model, *AtomicPartition(2));
    ASSERT_TRUE(found) << i << ": " << found.error().message;
    EXPECT_NEAR(found->value, PhiGOnGrid(system.coupling, system.noise), 1e-3) << i;
  }
}

// Of noise that is nearly the same in both variables, differences of informations have few digits.
TEST(MeasuresTest, PhiStarOfNearlySingularModelsIsWithinItsBounds) {
  for (const double correlation : {0.99, 0.999999, 0.99999999, 0.999999999, 0.9999999999}) {
    const auto model =
        GaussianModel::FromCoupling({{.4, .4}, {.4, .4}}, {{1, correlation}, {correlation, 1}});
    ASSERT_TRUE(model) << model.error().message;
    const double value = *Evaluate(*model, *AtomicPartition(2), Measure::kPhiStar);
    EXPECT_GE(value, 0.0) << correlation;
    EXPECT_LE(value, *Evaluate(*model, *AtomicPartition(2), Measure::kInformation));
  }
}

}  // namespace measures_test
}  // namespace reveza::phi
