#include "phi/measures/minimum_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace minimum_partition_test {

GaussianModel RandomModel(int variables, std::uint64_t seed) {
  const TestingSystem system = RandomSystem(variables, seed);
  return *GaussianModel::FromCoupling(system.coupling, system.noise);
}

// Brute force over all bipartitions.
std::pair<double, Partition> Directly(const GaussianModel& model, Measure measure) {
  double least = HUGE_VAL;
  Partition best = *MakeBipartition(1, model.variables());
  for (std::uint64_t mask = 1; mask < (std::uint64_t{1} << (model.variables() - 1)); ++mask) {
    const Partition partition = *MakeBipartition(mask, model.variables());
    const double value = *Evaluate(model, partition, measure);
    if (value < least) {
      least = value;
      best = partition;
    }
  }
  return {least, best};
}

constexpr std::array kSearchable = {Measure::kMultiInformation,
                                    Measure::kStochasticInteraction,
                                    Measure::kWholeMinusSum,
                                    Measure::kPhiR,
                                    Measure::kPhiG,
                                    Measure::kPhiStar};

TEST(MinimumPartitionTest, IsTheLowestOfAllBipartitions) {
  for (int variables = 2; variables <= 7; ++variables) {
    const GaussianModel model = RandomModel(variables, 40 + static_cast<unsigned>(variables));
    const PartitionSearch search(model, {});
    for (const Measure measure : kSearchable) {
      const auto found = search.Minimum(measure);
      ASSERT_TRUE(found) << found.error().message;
      const auto [value, partition] = Directly(model, measure);
      EXPECT_NEAR(found->value, value, 1e-9) << NameOf(measure) << " of " << variables;
      EXPECT_EQ(found->partition.Text(), partition.Text()) << NameOf(measure);
      EXPECT_EQ(found->exact, measure != Measure::kPhiG);
      EXPECT_EQ(found->examined, (1 << (variables - 1)) - 1);
    }
  }
}

// More subsets than one block, and two blocks or more of bipartitions.
TEST(MinimumPartitionTest, ComparesAllBlocks) {
  for (const int variables : {10, 11, 12}) {
    const GaussianModel model = RandomModel(variables, 50 + static_cast<unsigned>(variables));
    for (const Measure measure : {Measure::kMultiInformation, Measure::kStochasticInteraction,
                                  Measure::kWholeMinusSum, Measure::kPhiR}) {
      const auto [value, partition] = Directly(model, measure);
      for (const auto instructions : {Instructions::kPlain, SupportedInstructions()}) {
        const auto found = PartitionSearch(model, {.instructions = instructions}).Minimum(measure);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_NEAR(found->value, value, 1e-9) << NameOf(measure) << " of " << variables;
        EXPECT_EQ(found->partition.Text(), partition.Text()) << NameOf(measure);
        EXPECT_EQ(found->examined, (1 << (variables - 1)) - 1);
      }
    }
  }
}

TEST(MinimumPartitionTest, SeparatesUncoupledBlocks) {
  const auto model = GaussianModel::FromCoupling(TwoBlocks(), Matrix::Identity(4));
  for (const Measure measure : kSearchable) {
    const auto found = PartitionSearch(*model, {}).Minimum(measure);
    EXPECT_EQ(found->partition.Text(), "0,1|2,3") << NameOf(measure);
    EXPECT_NEAR(found->value, 0.0, 1e-12) << NameOf(measure);
  }
}

TEST(MinimumPartitionTest, SupportsSeveralLags) {
  const TestingSystem system = RandomSystem(15, 60);
  const auto model = GaussianModel::FromJoint(system.noise, 2);  // five variables of two lags
  PartitionSearch search(*model, {});
  for (const Measure measure : kSearchable) {
    const auto found = search.Minimum(measure);
    ASSERT_TRUE(found) << found.error().message;
    const auto [value, partition] = Directly(*model, measure);
    EXPECT_NEAR(found->value, value, 1e-9) << NameOf(measure);
    EXPECT_EQ(found->partition.Text(), partition.Text()) << NameOf(measure);
  }
}

TEST(MinimumPartitionTest, CandidatesContainTheMinimumOfPhiG) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const GaussianModel model = RandomModel(9, 100 + seed);
    const auto found = PartitionSearch(model, {}).Minimum(Measure::kPhiG);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->exact);
    EXPECT_EQ(found->examined, 100);
    EXPECT_NEAR(found->value, Directly(model, Measure::kPhiG).first, 1e-9);
  }
}

TEST(MinimumPartitionTest, QueyranneIsExactForMultiInformation) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const GaussianModel model = RandomModel(8, 200 + seed);
    const auto exhaustive = PartitionSearch(model, {}).Minimum(Measure::kMultiInformation);
    PartitionSearch search(model, {.method = SearchMethod::kQueyranne});
    const auto found = search.Minimum(Measure::kMultiInformation);
    EXPECT_TRUE(found->exact);
    EXPECT_EQ(found->partition.Text(), exhaustive->partition.Text());
    EXPECT_NEAR(found->value, exhaustive->value, 1e-12);
    const auto other = search.Minimum(Measure::kStochasticInteraction);
    EXPECT_FALSE(other->exact);
    EXPECT_GE(other->value,
              PartitionSearch(model, {}).Minimum(Measure::kStochasticInteraction)->value - 1e-12);
  }
}

TEST(MinimumPartitionTest, QueyranneSupportsMoreVariables) {
  const GaussianModel model = RandomModel(26, 300);
  const auto refused = PartitionSearch(model, {}).Minimum(Measure::kMultiInformation);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("use --mip queyranne"), std::string::npos);
  const auto found = PartitionSearch(model, {.method = SearchMethod::kQueyranne})
                         .Minimum(Measure::kMultiInformation);
  ASSERT_TRUE(found);
  // No single variable divides better.
  for (int i = 0; i < 26; ++i) {
    EXPECT_LE(found->value, *Evaluate(model, *MakeBipartition(std::uint64_t{1} << i, 26),
                                      Measure::kMultiInformation));
  }
}

TEST(MinimumPartitionTest, QueyranneFindsTheSameBitsWithAnyThreadsAndInstructions) {
  const GaussianModel model = RandomModel(20, 310);
  for (const Measure measure : {Measure::kMultiInformation, Measure::kStochasticInteraction,
                                Measure::kPhiR, Measure::kPhiStar}) {
    std::vector<SearchProgress> seen;
    std::optional<MinimumPartition> first;
    for (const int threads : {1, 2, 3}) {
      for (const auto instructions : {Instructions::kPlain, SupportedInstructions()}) {
        seen.clear();
        const SearchOptions options = {
            .method = SearchMethod::kQueyranne,
            .instructions = instructions,
            .threads = threads,
            .progress = [&](const SearchProgress& now) { seen.push_back(now); }};
        const auto found = PartitionSearch(model, options).Minimum(measure);
        ASSERT_TRUE(found) << found.error().message;
        if (!first) first = *found;
        EXPECT_EQ(found->value, first->value);
        EXPECT_EQ(found->partition, first->partition);
        EXPECT_EQ(found->examined, first->examined);
      }
    }
    // An estimate, then every pass, then every bipartition that is evaluated.
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.front().done, 0U);
    EXPECT_EQ(seen.front().all, 19U);
    EXPECT_GT(seen.front().expected_seconds, 0.0);
    seen.erase(seen.begin());
    const bool direct =
        measure == Measure::kMultiInformation || measure == Measure::kStochasticInteraction;
    ASSERT_EQ(seen.size(), direct ? 20U : 38U);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      EXPECT_EQ(seen[i].stage, i < 19 ? SearchStage::kPasses : SearchStage::kCandidates);
      EXPECT_EQ(seen[i].done, i < 19 ? i + 1 : i - 18);
      EXPECT_EQ(seen[i].all, i < 19 ? 19U : direct ? 1U : 19U);
    }
  }
}

TEST(MinimumPartitionTest, QueyranneOperationsGrowByTheFourthPower) {
  EXPECT_EQ(QueyranneOperations(10, 1, Measure::kMultiInformation), 9 * 4000.0);
  EXPECT_EQ(QueyranneOperations(10, 1, Measure::kStochasticInteraction), 9 * 4500.0);
  EXPECT_EQ(QueyranneOperations(10, 1, Measure::kPhiR), 9 * 5000.0);
  EXPECT_EQ(QueyranneOperations(10, 3, Measure::kPhiG), 9 * 45500.0);
  EXPECT_NEAR(QueyranneOperations(200, 1, Measure::kStochasticInteraction) /
                  QueyranneOperations(100, 1, Measure::kStochasticInteraction),
              16, 0.2);
}

// Two blocks of variables of random coupling within and next to none between. Evaluating every
// bipartition on its own would take minutes.
TEST(MinimumPartitionTest, QueyranneFindsTwoBlocksOfFortyVariables) {
  constexpr int kBlock = 40;
  TestingSystem system = RandomSystem(2 * kBlock, 11);
  for (int i = 0; i < 2 * kBlock; ++i) {
    for (int j = 0; j < 2 * kBlock; ++j) {
      if (i / kBlock == j / kBlock) continue;
      system.coupling(i, j) *= 1e-3;
      system.noise(i, j) = 0.0;
    }
  }
  const auto model = GaussianModel::FromCoupling(system.coupling, system.noise);
  ASSERT_TRUE(model) << model.error().message;
  for (const Measure measure : {Measure::kMultiInformation, Measure::kStochasticInteraction,
                                Measure::kWholeMinusSum, Measure::kPhiStar}) {
    const auto found =
        PartitionSearch(*model, {.method = SearchMethod::kQueyranne}).Minimum(measure);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->partition.parts().size(), 2U);
    EXPECT_EQ(found->partition.parts()[0].size(), static_cast<std::size_t>(kBlock))
        << NameOf(measure);
    EXPECT_EQ(found->partition.parts()[0].back(), kBlock - 1) << NameOf(measure);
    EXPECT_NEAR(found->value, *Evaluate(*model, found->partition, measure), 1e-12);
  }
}

TEST(MinimumPartitionTest, InformationHasNoPartition) {
  const GaussianModel model = RandomModel(3, 1);
  EXPECT_FALSE(PartitionSearch(model, {}).Minimum(Measure::kInformation));
}

TEST(MinimumPartitionTest, RejectsNonPositiveNormaliser) {
  const TestingSystem system = RandomSystem(4, 70);
  Matrix small = system.noise;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) small(i, j) *= 1e-4;
  }
  const auto model = GaussianModel::FromCoupling(system.coupling, small);
  const auto refused =
      PartitionSearch(*model, {.normalised = true}).Minimum(Measure::kStochasticInteraction);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("not positive: differential entropy depends on the units"),
            std::string::npos);
  const auto whole = GaussianModel::FromCoupling(system.coupling, system.noise);
  for (const Measure measure : kSearchable) {
    EXPECT_TRUE(PartitionSearch(*whole, {.normalised = true}).Minimum(measure)) << NameOf(measure);
  }
}

TEST(MinimumPartitionTest, NormalisedMinimumIsTheLowestRatio) {
  // Five are one block, twelve are four.
  for (const int variables : {5, 12}) {
    const TestingSystem system = RandomSystem(variables, 71);
    const auto model = GaussianModel::FromCoupling(system.coupling, system.noise);
    const auto found =
        PartitionSearch(*model, {.normalised = true}).Minimum(Measure::kStochasticInteraction);
    const auto entropy = [&](const std::vector<int>& part) {
      const Matrix covariance = *StationaryCovariance(system.coupling, system.noise);
      return 0.5 * (LogDeterminantOf(*Cholesky(Submatrix(covariance, part, part))) +
                    static_cast<double>(part.size()) * std::log(2.0 * M_PI * M_E));
    };
    const auto share = [&](const Partition& partition) {
      return *Evaluate(*model, partition, Measure::kStochasticInteraction) /
             std::min(entropy(partition.parts()[0]), entropy(partition.parts()[1]));
    };
    for (std::uint64_t mask = 1; mask < std::uint64_t{1} << (variables - 1); ++mask) {
      EXPECT_GE(share(*MakeBipartition(mask, variables)), share(found->partition) - 1e-12);
    }
  }
}

TEST(MinimumPartitionTest, ReportsDeterminantUnderflow) {
  // 24 variables of two pairs of values each that say nearly all of each other: 10^-513.
  Matrix joint = Matrix::Identity(96);
  for (int i = 0; i < 96; i += 2) joint(i, i + 1) = joint(i + 1, i) = 1.0 - 1e-11;
  const auto model = GaussianModel::FromJoint(joint, 3);
  ASSERT_TRUE(model) << model.error().message;
  const auto refused = PartitionSearch(*model, {}).Minimum(Measure::kMultiInformation);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("use --mip queyranne"), std::string::npos);
}

TEST(ComplexesTest, UncoupledBlocksAreTheComplexes) {
  // Two pairs that are coupled, and a variable alone.
  Matrix coupling(5, 5);
  coupling(0, 1) = coupling(1, 0) = 0.6;
  coupling(2, 3) = coupling(3, 2) = 0.4;
  coupling(4, 4) = 0.5;
  const auto model = GaussianModel::FromCoupling(coupling, Matrix::Identity(5));
  const auto complexes = ComplexesOf(*model, Measure::kStochasticInteraction);
  ASSERT_TRUE(complexes);
  ASSERT_EQ(complexes->size(), 2U);
  EXPECT_EQ((*complexes)[0].variables, (std::vector<int>{0, 1}));
  EXPECT_EQ((*complexes)[1].variables, (std::vector<int>{2, 3}));
  EXPECT_TRUE((*complexes)[0].main);
  EXPECT_TRUE((*complexes)[1].main);
  const std::vector<int> first = {0, 1};
  Matrix pair = {{0, 0.6}, {0.6, 0}};
  const auto alone = GaussianModel::FromCoupling(pair, Matrix::Identity(2));
  EXPECT_NEAR((*complexes)[0].value,
              *Evaluate(*alone, *AtomicPartition(2), Measure::kStochasticInteraction), 1e-12);
}

TEST(ComplexesTest, ComplexesExceedTheirSupersets) {
  const GaussianModel model = RandomModel(6, 80);
  const auto complexes = ComplexesOf(model, Measure::kMultiInformation);
  ASSERT_TRUE(complexes);
  const auto whole = PartitionSearch(model, {}).Minimum(Measure::kMultiInformation);
  int mains = 0;
  bool has_whole = false;
  for (const Complex& one : *complexes) {
    mains += one.main ? 1 : 0;
    if (one.variables.size() == 6) {
      has_whole = true;
      EXPECT_NEAR(one.value, whole->value, 1e-12);
    }
    for (const Complex& other : *complexes) {
      if (&one == &other) continue;
      if (std::ranges::includes(other.variables, one.variables)) {
        EXPECT_GT(one.value, other.value);
      }
    }
  }
  EXPECT_TRUE(has_whole);  // nothing is larger
  EXPECT_GE(mains, 1);
}

// Twelve variables of three lags in pairs whose rows differ by `apart` of their variance only: the
// determinant of all is (2 apart)^24.
GaussianModel NearlyEqualPairs(double apart) {
  Matrix joint = Matrix::Identity(48);
  for (int pair = 0; pair < 6; ++pair) {
    for (int row = 0; row < 4; ++row) {
      const int one = (2 * pair) * 4 + row;
      const int other = one + 4;
      joint(one, other) = joint(other, one) = 1.0 - apart;
    }
  }
  const auto model = GaussianModel::FromJoint(joint, 3);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return *model;
}

TEST(ComplexesTest, HandleSmallDeterminants) {
  const double apart = 7.4e-12;
  const GaussianModel model = NearlyEqualPairs(apart);
  const double determinant = model.LogDeterminant(model.Both(model.AllVariables()));
  EXPECT_NEAR(determinant / std::log(10.0), -259.9, 0.3);
  for (const Measure measure : {Measure::kMultiInformation, Measure::kStochasticInteraction}) {
    const auto complexes = ComplexesOf(model, measure);
    ASSERT_TRUE(complexes) << complexes.error().message;
    ASSERT_EQ(complexes->size(), 6U) << NameOf(measure);
    // Four rows of two variables each, of which the present alone counts for si.
    const double rows = measure == Measure::kMultiInformation ? 4 : 1;
    for (const Complex& one : *complexes) {
      EXPECT_EQ(one.variables.size(), 2U);
      EXPECT_EQ(one.variables[0] / 2, one.variables[1] / 2);
      EXPECT_TRUE(one.main);
      EXPECT_NEAR(one.value, -0.5 * rows * std::log(2 * apart), 1e-3) << NameOf(measure);
    }
  }
  const auto refused = ComplexesOf(NearlyEqualPairs(5e-12), Measure::kMultiInformation);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("below 1e-260"), std::string::npos);
}

TEST(ComplexesTest, RejectUnsupportedSearches) {
  EXPECT_FALSE(ComplexesOf(RandomModel(3, 1), Measure::kPhiG));
  EXPECT_NE(
      ComplexesOf(RandomModel(17, 1), Measure::kMultiInformation).error().message.find("2 to 16"),
      std::string::npos);
}

}  // namespace minimum_partition_test
}  // namespace reveza::phi
