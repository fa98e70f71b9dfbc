#include "phi/measures/subset_determinants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "phi/measures/testing_systems.h"

namespace reveza::phi {
namespace subset_determinants_test {

// The instruction sets of this processor.
std::vector<Instructions> AllInstructions() {
  std::vector<Instructions> all = {Instructions::kPlain};
  if (SupportedInstructions() != Instructions::kPlain) all.push_back(Instructions::kAvx2);
  if (SupportedInstructions() == Instructions::kAvx512) all.push_back(Instructions::kAvx512);
  return all;
}

// Cholesky decompositions of all submatrices.
std::vector<double> Directly(const Matrix& matrix, int variables, const SubsetRows& rows) {
  std::vector<double> result;
  for (std::size_t mask = 0; mask < (std::size_t{1} << variables); ++mask) {
    std::vector<int> chosen;
    for (int i = 0; i < variables; ++i) {
      const bool in = ((mask >> i) & 1U) != 0;
      for (int k = in ? rows.in_begin : rows.out_begin; k < (in ? rows.in_end : rows.out_end);
           ++k) {
        chosen.push_back(i * rows.group + k);
      }
    }
    result.push_back(std::exp(LogDeterminantOf(*Cholesky(Submatrix(matrix, chosen, chosen)))));
  }
  return result;
}

void ExpectAllDeterminants(int variables, const SubsetRows& rows) {
  const Matrix matrix =
      RandomSystem(variables * rows.group, static_cast<std::uint64_t>(variables)).noise;
  const std::vector<double> expected = Directly(matrix, variables, rows);
  std::vector<double> plain;
  for (const Instructions instructions : AllInstructions()) {
    std::vector<double> found;
    SubsetDeterminants(matrix, variables, rows, instructions, found);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t mask = 0; mask < found.size(); ++mask) {
      ASSERT_NEAR(found[mask] / expected[mask], 1.0, 1e-11)
          << variables << " variables, subset " << mask << ", " << NameOf(instructions);
    }
    if (plain.empty()) plain = found;
    EXPECT_EQ(found, plain) << NameOf(instructions);
  }
}

TEST(SubsetDeterminantsTest, MatchCholeskyForOneRowPerVariable) {
  for (int variables = 1; variables <= 9; ++variables) ExpectAllDeterminants(variables, {});
}

TEST(SubsetDeterminantsTest, MatchCholeskyForPastAndPresent) {
  for (int variables = 1; variables <= 8; ++variables) {
    ExpectAllDeterminants(variables, {.group = 2, .in_begin = 0, .in_end = 2});
  }
}

TEST(SubsetDeterminantsTest, MatchCholeskyForPastAcrossPresent) {
  for (int variables = 1; variables <= 8; ++variables) {
    ExpectAllDeterminants(variables,
                          {.group = 2, .in_begin = 0, .in_end = 1, .out_begin = 1, .out_end = 2});
  }
}

TEST(SubsetDeterminantsTest, MatchCholeskyForSeveralLags) {
  for (int variables = 1; variables <= 6; ++variables) {
    ExpectAllDeterminants(variables, {.group = 4, .in_begin = 0, .in_end = 4});
    ExpectAllDeterminants(variables,
                          {.group = 4, .in_begin = 0, .in_end = 3, .out_begin = 3, .out_end = 4});
  }
}

// Blocks in any order: the path to each is shared with the one before.
TEST(SubsetBlocksTest, WriteTheSameInAnyOrder) {
  constexpr int kMany = 14;
  const SubsetRows rows = {.group = 2, .in_begin = 0, .in_end = 2};
  const Matrix matrix = RandomSystem(2 * kMany, 3).noise;
  std::vector<double> all;
  SubsetDeterminants(matrix, kMany, rows, SupportedInstructions(), all);
  SubsetBlocks blocks(matrix, kMany, rows, SupportedInstructions());
  ASSERT_EQ(blocks.count(), 16U);
  std::vector<double> found(blocks.size());
  for (const std::size_t block : {15, 14, 3, 3, 12, 0, 1, 8, 7, 15}) {
    blocks.Write(block, found.data());
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(block * blocks.size());
    EXPECT_TRUE(std::equal(found.begin(), found.end(), first)) << block;
  }
}

}  // namespace subset_determinants_test
}  // namespace reveza::phi
