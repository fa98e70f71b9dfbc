#include "phi/measures/phiid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "phi/measures/testing_phyid.h"
#include "phi/measures/testing_systems.h"
#include "phi/measures/window.h"

namespace reveza::phi {
namespace phiid_test {

SeriesView ViewOf(const std::vector<double>& values, int variables) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / variables, variables,
          variables};
}

std::vector<double> PhyidSeries() {
  std::vector<double> values;
  for (const auto& row : kPhyidSeries) values.insert(values.end(), row.begin(), row.end());
  return values;
}

double At(const PhiIdAtoms& atoms, std::string_view name) {
  return atoms[static_cast<std::size_t>(std::ranges::find(kPhiIdAtoms, name) -
                                        kPhiIdAtoms.begin())];
}

double Sum(const PhiIdAtoms& atoms, std::initializer_list<std::string_view> names) {
  double sum = 0.0;
  for (const std::string_view name : names) sum += At(atoms, name);
  return sum;
}

double Total(const PhiIdAtoms& atoms) { return std::accumulate(atoms.begin(), atoms.end(), 0.0); }

TEST(PhiIdTest, MatchesPhyid) {
  const std::vector<double> values = PhyidSeries();
  const SeriesView view = ViewOf(values, 2);
  for (const PhyidValues& expected : kPhyidValues) {
    const auto found = DecomposeSeries(std::span(&view, 1),
                                       {.redundancy = *ParsePhiIdRedundancy(expected.redundancy),
                                        .estimate = {.lag = expected.tau},
                                        .local = true});
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->local.size(), 80U - static_cast<std::size_t>(expected.tau));
    for (std::size_t atom = 0; atom < 16; ++atom) {
      EXPECT_NEAR(found->mean[atom], expected.mean[atom], 1e-10)
          << expected.redundancy << " " << kPhiIdAtoms[atom];
      for (std::size_t row = 0; row < expected.local.size(); ++row) {
        EXPECT_NEAR(found->local[row][atom], expected.local[row][atom], 1e-10)
            << expected.redundancy << " " << kPhiIdAtoms[atom] << " " << row;
      }
    }
  }
}

TEST(PhiIdTest, ModesCoverTheAtoms) {
  std::map<std::string, int> counts;
  for (std::size_t atom = 0; atom < 16; ++atom) ++counts[std::string(PhiIdModeOf(atom))];
  EXPECT_EQ(counts, (std::map<std::string, int>{{"storage", 4},
                                                {"copy", 2},
                                                {"transfer", 2},
                                                {"erasure", 2},
                                                {"downward causation", 3},
                                                {"upward causation", 3}}));
  EXPECT_EQ(PhiIdModeOf(6), "transfer");  // xty
  EXPECT_EQ(PhiIdModeOf(4), "copy");      // xtr
  EXPECT_EQ(PhiIdModeOf(1), "erasure");   // rtx
  EXPECT_EQ(PhiIdModeOf(15), "storage");  // sts
  EXPECT_EQ(PhiIdModeOf(13), "downward causation");
  EXPECT_EQ(PhiIdModeOf(7), "upward causation");
}

// Systems of 2 to 6 variables, each with a bipartition.
class PhiIdPropertiesTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  PhiIdPropertiesTest()
      : variables_(2 + static_cast<int>(GetParam() % 5)),
        system_(RandomSystem(variables_, GetParam())),
        model_(*GaussianModel::FromCoupling(system_.coupling, system_.noise)),
        partition_(*MakeBipartition(1 + GetParam() % ((1U << (variables_ - 1)) - 1), variables_)) {}

  // I(past of one part or both; present of one part or both), 1, 2 or 3 for both.
  double Information(const GaussianModel& model, int from, int to) const {
    std::vector<int> past, present;
    for (const int part : {1, 2}) {
      for (const int variable : partition_.parts()[static_cast<std::size_t>(part - 1)]) {
        if ((from & part) != 0) past.push_back(variable);
        if ((to & part) != 0) present.push_back(variable);
      }
    }
    return model.MutualInformation(model.Past(past), model.Present(present));
  }

  void ExpectSums(const GaussianModel& model, const PhiIdAtoms& atoms) const {
    EXPECT_NEAR(Total(atoms), Information(model, 3, 3), 1e-10);
    EXPECT_NEAR(Sum(atoms, {"rtr", "rtx", "xtr", "xtx"}), Information(model, 1, 1), 1e-10);
    EXPECT_NEAR(Sum(atoms, {"rtr", "rty", "xtr", "xty"}), Information(model, 1, 2), 1e-10);
    EXPECT_NEAR(Sum(atoms, {"rtr", "rtx", "ytr", "ytx"}), Information(model, 2, 1), 1e-10);
    EXPECT_NEAR(Sum(atoms, {"rtr", "rty", "ytr", "yty"}), Information(model, 2, 2), 1e-10);
    EXPECT_NEAR(Sum(atoms, {"rtr", "rtx", "rty", "rts", "xtr", "xtx", "xty", "xts"}),
                Information(model, 1, 3), 1e-10);
    EXPECT_NEAR(Sum(atoms, {"rtr", "rtx", "rty", "rts", "ytr", "ytx", "yty", "yts"}),
                Information(model, 2, 3), 1e-10);
    EXPECT_NEAR(Sum(atoms, {"rtr", "rtx", "xtr", "xtx", "ytr", "ytx", "str", "stx"}),
                Information(model, 3, 1), 1e-10);
    EXPECT_NEAR(Sum(atoms, {"rtr", "rty", "xtr", "xty", "ytr", "yty", "str", "sty"}),
                Information(model, 3, 2), 1e-10);
  }

  int variables_;
  TestingSystem system_;
  GaussianModel model_;
  Partition partition_;
};

TEST_P(PhiIdPropertiesTest, AtomsSumToInformations) {
  const auto atoms = PhiIdOf(model_, partition_);
  ASSERT_TRUE(atoms);
  ExpectSums(model_, *atoms);
}

TEST_P(PhiIdPropertiesTest, PhiRIsASumOfAtoms) {
  const auto atoms = PhiIdOf(model_, partition_);
  const double phi_r = *Evaluate(model_, partition_, Measure::kPhiR);
  EXPECT_NEAR(PhiRFrom(*atoms), phi_r, 1e-10);
  EXPECT_NEAR(PhiRFrom(*atoms) - At(*atoms, "rtr"),
              *Evaluate(model_, partition_, Measure::kWholeMinusSum), 1e-10);
}

TEST_P(PhiIdPropertiesTest, MinimaMakeTheLatticeMonotone) {
  // With mmi, redundancy and unique information of each lattice are not negative.
  const auto atoms = PhiIdOf(model_, partition_);
  EXPECT_GE(At(*atoms, "rtr"), -1e-12);
  for (const std::string_view atom : {"rtx", "rty", "xtr", "ytr"}) {
    EXPECT_GE(At(*atoms, atom) + At(*atoms, "rtr"), -1e-12) << atom;
  }
}

TEST_P(PhiIdPropertiesTest, SwappingThePartsSwapsTheirAtoms) {
  std::vector<std::vector<int>> parts = partition_.parts();
  // The parts of a partition are ordered by their variables, and so the variables are renumbered.
  std::vector<int> order = parts[1];
  order.insert(order.end(), parts[0].begin(), parts[0].end());
  const auto model = GaussianModel::FromCoupling(Submatrix(system_.coupling, order, order),
                                                 Submatrix(system_.noise, order, order));
  std::vector<int> numbers(order.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto cut = numbers.begin() + static_cast<std::ptrdiff_t>(parts[1].size());
  const auto partition = PartitionOf({{numbers.begin(), cut}, {cut, numbers.end()}}, variables_);
  const auto atoms = PhiIdOf(model_, partition_);
  const auto swapped = PhiIdOf(*model, *partition);
  for (std::size_t atom = 0; atom < 16; ++atom) {
    std::string name(kPhiIdAtoms[atom]);
    for (char& letter : name) letter = letter == 'x' ? 'y' : letter == 'y' ? 'x' : letter;
    EXPECT_NEAR(At(*swapped, name), (*atoms)[atom], 1e-10) << name;
  }
}

TEST_P(PhiIdPropertiesTest, LocalValuesHaveTheirMeans) {
  const std::vector<double> values = Simulated(system_, 150, GetParam());
  const SeriesView view = ViewOf(values, variables_);
  const auto estimate = EstimateModel(view, {});
  for (const auto redundancy : {PhiIdRedundancy::kMmi, PhiIdRedundancy::kCcs}) {
    const auto found = DecomposeSeries(
        std::span(&view, 1), {.redundancy = redundancy, .partition = partition_, .local = true});
    ASSERT_TRUE(found);
    PhiIdAtoms mean = {};
    for (const PhiIdAtoms& atoms : found->local) {
      for (std::size_t i = 0; i < 16; ++i) mean[i] += atoms[i] / 149.0;
    }
    for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(mean[i], found->mean[i], 1e-9);
    ExpectSums(estimate->model, found->mean);
  }
}

TEST_P(PhiIdPropertiesTest, BiasesAddUp) {
  const auto bias = PhiIdBias(model_, partition_, 100);
  ASSERT_TRUE(bias);
  EXPECT_NEAR(Total(*bias), *BiasOf(model_, partition_, Measure::kInformation, 100), 1e-12);
  EXPECT_NEAR(PhiRFrom(*bias), *BiasOf(model_, partition_, Measure::kPhiR, 100), 1e-12);
  EXPECT_FALSE(PhiIdBias(model_, partition_, 2 * variables_ + 1));
}

INSTANTIATE_TEST_SUITE_P(RandomSystems, PhiIdPropertiesTest, testing::Range<std::uint64_t>(0, 30));

// The minimum of what two sources say counts as redundant, though they say different things.
TEST(PhiIdTest, IndependentPartsLookSynergisticByMinima) {
  const TestingSystem system = {.coupling = {{.6, 0}, {0, .3}}, .noise = Matrix::Identity(2)};
  const auto model = GaussianModel::FromCoupling(system.coupling, system.noise);
  const double first = -0.5 * std::log(1 - .36);
  const double least = -0.5 * std::log(1 - .09);
  const PhiIdAtoms expected = {0, 0, 0,     least,  0,     first,  0,      -least,
                               0, 0, least, -least, least, -least, -least, 2 * least};
  const auto atoms = PhiIdOf(*model, *AtomicPartition(2));
  for (std::size_t atom = 0; atom < 16; ++atom) {
    EXPECT_NEAR((*atoms)[atom], expected[atom], 1e-12) << kPhiIdAtoms[atom];
  }
  // By common changes they only store.
  const std::vector<double> values = Simulated(system, 5000, 1);
  const SeriesView view = ViewOf(values, 2);
  const auto found = DecomposeSeries(std::span(&view, 1), {.redundancy = PhiIdRedundancy::kCcs});
  for (std::size_t atom = 0; atom < 16; ++atom) {
    const bool stored = atom == 5 || atom == 10;
    EXPECT_NEAR(found->mean[atom], stored ? expected[atom] : 0.0, 0.03) << kPhiIdAtoms[atom];
  }
}

TEST(PhiIdTest, OneInfluenceIsTransfer) {
  // The second copies the first, which has no memory.
  const auto model = GaussianModel::FromCoupling({{0, 0}, {.8, 0}}, Matrix::Identity(2));
  const auto atoms = PhiIdOf(*model, *AtomicPartition(2));
  EXPECT_NEAR(At(*atoms, "xty"), 0.5 * std::log(1.64), 1e-12);
  EXPECT_NEAR(Total(*atoms), At(*atoms, "xty"), 1e-12);
}

TEST(PhiIdTest, SearchesThePartitionOfPhiR) {
  const TestingSystem system = RandomSystem(4, 2);
  const std::vector<double> values = Simulated(system, 400, 5);
  const SeriesView view = ViewOf(values, 4);
  const auto found = DecomposeSeries(std::span(&view, 1), {});
  ASSERT_TRUE(found);
  const auto measured = MeasureWindow(view, {.measures = {Measure::kPhiR}});
  EXPECT_EQ(found->partition, *measured->front().partition);
  EXPECT_NEAR(PhiRFrom(found->mean), measured->front().value, 1e-10);
  EXPECT_TRUE(found->local.empty());
}

TEST(PhiIdTest, SurrogatesTestWhatCrossesTheParts) {
  const TestingSystem system = {.coupling = {{.3, 0}, {.7, .3}}, .noise = Matrix::Identity(2)};
  const std::vector<double> values = Simulated(system, 400, 5);
  const SeriesView view = ViewOf(values, 2);
  const PhiIdOptions options;
  const auto found = DecomposeSeries(std::span(&view, 1), options);
  const auto tests =
      TestPhiId(std::span(&view, 1), options, found->mean, {.count = 99, .threads = 3});
  ASSERT_TRUE(tests) << tests.error().message;
  EXPECT_FALSE((*tests)[5]);        // xtx
  EXPECT_FALSE((*tests)[10]);       // yty
  EXPECT_EQ((*tests)[6]->p, 0.01);  // xty
  EXPECT_GT(found->mean[6], (*tests)[6]->null_high);
  EXPECT_GT((*tests)[9]->p, 0.05);  // ytx
  EXPECT_FALSE(TestPhiId(std::span(&view, 1), options, found->mean, {.count = 0}));
}

TEST(PhiIdTest, RejectsOtherThanTwoParts) {
  const auto model = GaussianModel::FromCoupling(TwoBlocks(), Matrix::Identity(4));
  EXPECT_FALSE(PhiIdOf(*model, *AtomicPartition(4)));
  EXPECT_FALSE(PhiIdOf(*model, *AtomicPartition(2)));
  EXPECT_FALSE(ParsePhiIdRedundancy("min"));
  const std::vector<double> values = PhyidSeries();
  const SeriesView view = ViewOf(values, 2);
  const EstimateOptions shrunk = {.shrinkage = {.kind = Shrinkage::Kind::kAmount, .amount = 0.1}};
  EXPECT_TRUE(DecomposeSeries(std::span(&view, 1), {.estimate = shrunk}));
  EXPECT_FALSE(DecomposeSeries(std::span(&view, 1), {.estimate = shrunk, .local = true}));
  EXPECT_FALSE(DecomposeSeries(std::span(&view, 1),
                               {.redundancy = PhiIdRedundancy::kCcs, .estimate = shrunk}));
}

}  // namespace phiid_test
}  // namespace reveza::phi
