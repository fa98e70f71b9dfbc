// Property tests on random systems: bounds and identities of the measures, and invariance under
// permutation and scaling of variables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "phi/measures/granger.h"
#include "phi/measures/measures.h"
#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace properties_test {

constexpr double kRounding = 1e-10;

double ValueOf(const GaussianModel& model, const Partition& partition, Measure measure) {
  const auto value = Evaluate(model, partition, measure);
  EXPECT_TRUE(value) << NameOf(measure) << ": " << value.error().message;
  return value.value_or(std::nan(""));
}

// Systems of 2 to 6 variables, each with a partition.
class PropertiesTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  PropertiesTest()
      : variables_(2 + static_cast<int>(GetParam() % 5)),
        system_(RandomSystem(variables_, GetParam())),
        model_(*GaussianModel::FromCoupling(system_.coupling, system_.noise)),
        partition_(*MakeBipartition(1 + GetParam() % ((1U << (variables_ - 1)) - 1), variables_)) {}

  double Value(Measure measure) const { return ValueOf(model_, partition_, measure); }

  int variables_;
  TestingSystem system_;
  GaussianModel model_;
  Partition partition_;
};

TEST_P(PropertiesTest, Bounds) {
  const double information = Value(Measure::kInformation);
  const double interaction = Value(Measure::kStochasticInteraction);
  const double geometric = Value(Measure::kPhiG);
  const double decoding = Value(Measure::kPhiStar);
  EXPECT_GE(geometric, 0.0);
  EXPECT_LE(geometric, information + kRounding);
  EXPECT_LE(geometric, interaction + kRounding);
  EXPECT_GE(decoding, -kRounding);
  EXPECT_LE(decoding, information + kRounding);
  EXPECT_GE(interaction, -kRounding);
  EXPECT_LE(interaction, Value(Measure::kMultiInformation) + kRounding);
  EXPECT_LE(Value(Measure::kWholeMinusSum), information + kRounding);
  EXPECT_LE(Value(Measure::kWholeMinusSum), Value(Measure::kPhiR) + kRounding);
}

TEST_P(PropertiesTest, Identities) {
  // si = wms + multi-information of the present; mi = si + multi-information of the past.
  double past = -0.5 * model_.LogDeterminant(model_.Past(model_.AllVariables()));
  double present = -0.5 * model_.LogDeterminant(model_.Present(model_.AllVariables()));
  for (const auto& part : partition_.parts()) {
    past += 0.5 * model_.LogDeterminant(model_.Past(part));
    present += 0.5 * model_.LogDeterminant(model_.Present(part));
  }
  EXPECT_NEAR(Value(Measure::kStochasticInteraction), Value(Measure::kWholeMinusSum) + present,
              kRounding);
  EXPECT_NEAR(Value(Measure::kMultiInformation), Value(Measure::kStochasticInteraction) + past,
              kRounding);
}

TEST_P(PropertiesTest, FinerPartitionsHaveHigherValues) {
  const Partition atomic = *AtomicPartition(variables_);
  for (const Measure measure :
       {Measure::kMultiInformation, Measure::kStochasticInteraction, Measure::kPhiG}) {
    EXPECT_GE(ValueOf(model_, atomic, measure), Value(measure) - kRounding) << NameOf(measure);
  }
}

TEST_P(PropertiesTest, AreInvariantUnderPermutationAndScaling) {
  std::vector<int> order(static_cast<std::size_t>(variables_));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + 1, order.end());
  TestingSystem other = {.coupling = Submatrix(system_.coupling, order, order),
                         .noise = Submatrix(system_.noise, order, order)};
  for (int i = 0; i < variables_; ++i) {
    const double unit = std::pow(10.0, i - 2) * (i % 2 == 0 ? 1.0 : -1.0);
    for (int j = 0; j < variables_; ++j) {
      other.coupling(i, j) *= unit;
      other.coupling(j, i) /= unit;
      other.noise(i, j) *= unit;
      other.noise(j, i) *= unit;
    }
  }
  const auto model = GaussianModel::FromCoupling(other.coupling, other.noise);
  ASSERT_TRUE(model) << model.error().message;
  std::vector<std::vector<int>> parts = partition_.parts();
  for (auto& part : parts) {
    for (int& variable : part) {
      variable = static_cast<int>(std::ranges::find(order, variable) - order.begin());
    }
  }
  const auto partition = PartitionOf(parts, variables_);
  for (const Measure measure : kAllMeasures) {
    EXPECT_NEAR(ValueOf(*model, *partition, measure), Value(measure), 1e-9) << NameOf(measure);
  }
}

TEST_P(PropertiesTest, OneDirectionWithUncorrelatedNoiseIsTransferEntropy) {
  Matrix coupling = system_.coupling;
  Matrix noise = system_.noise;
  const auto& first = partition_.parts()[0];
  for (int i = 0; i < variables_; ++i) {
    for (int j = 0; j < variables_; ++j) {
      const bool i_first = std::ranges::binary_search(first, i);
      const bool j_first = std::ranges::binary_search(first, j);
      if (i_first && !j_first) coupling(i, j) = 0.0;  // nothing comes into the first part
      if (i_first != j_first) noise(i, j) = 0.0;
    }
  }
  const double radius = SpectralRadius(coupling);
  for (int i = 0; i < variables_; ++i) {
    for (int j = 0; j < variables_; ++j) coupling(i, j) *= 0.7 / radius;
  }
  const auto model = GaussianModel::FromCoupling(coupling, noise);
  ASSERT_TRUE(model) << model.error().message;
  // Transfer entropy from part to part: I(X_1; Y_2 | X_2).
  const auto own = model->Past(partition_.parts()[1]);
  const auto present = model->Present(partition_.parts()[1]);
  const auto all = model->Past(model->AllVariables());
  const double entropy =
      model->MutualInformation(all, present) - model->MutualInformation(own, present);
  EXPECT_NEAR(ValueOf(*model, partition_, Measure::kPhiG), entropy, 1e-9);
  EXPECT_NEAR(ValueOf(*model, partition_, Measure::kStochasticInteraction), entropy, 1e-9);
}

TEST_P(PropertiesTest, PhiGSatisfiesTheOptimalityCondition) {
  // [Sigma_E'^-1 (A - A') Sigma_X] is 0 in the blocks.
  const auto found = GeometricIntegrationOf(model_, partition_);
  ASSERT_TRUE(found) << found.error().message;
  const auto past = model_.Past(model_.AllVariables());
  const auto present = model_.Present(model_.AllVariables());
  const Matrix covariance = Submatrix(model_.joint(), past, past);
  const Matrix cross = Submatrix(model_.joint(), present, past);
  const Matrix with_past = Sum(cross, Product(found->coupling, covariance), -1.0);
  const Matrix residual = Sum(Sum(Submatrix(model_.joint(), present, present),
                                  ProductTransposed(cross, found->coupling), -1.0),
                              ProductTransposed(found->coupling, with_past), -1.0);
  const Matrix slope = SolveCholesky(*Cholesky(residual), with_past);
  for (const auto& part : partition_.parts()) {
    for (const int i : part) {
      for (const int j : part) EXPECT_NEAR(slope(i, j), 0.0, 1e-6);
    }
  }
}

TEST_P(PropertiesTest, TransferEntropyOfTwoVariablesIsTheirConditionalInformation) {
  const Granger granger = GrangerOf(model_, GrangerKind::kConditional, std::nullopt);
  const int self[] = {1};
  std::vector<int> others;
  for (int i = 1; i < variables_; ++i) others.push_back(i);
  const auto present = model_.Present(self);
  const double expected = model_.MutualInformation(model_.Past(model_.AllVariables()), present) -
                          model_.MutualInformation(model_.Past(others), present);
  EXPECT_NEAR(TransferEntropyOf(granger.causality(0, 1)), expected, kRounding);
}

INSTANTIATE_TEST_SUITE_P(RandomSystems, PropertiesTest, testing::Range<std::uint64_t>(0, 40));

}  // namespace properties_test
}  // namespace reveza::phi
