#include "phi/measures/measures.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

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

}  // namespace measures_test
}  // namespace reveza::phi
