// The same walk compiled for each set of instructions. For subset_determinants.cc only.
#pragma once

#include <cstddef>

namespace reveza::phi {

// Which rows of a variable's `group` consecutive ones are taken where it is in the subset, and
// which where it is not.
struct SubsetRows {
  int group = 1;
  int in_begin = 0;
  int in_end = 1;
  int out_begin = 0;
  int out_end = 0;
};

inline constexpr int kMostSubsetVariables = 30;

struct SubsetWork {
  // All variables * group rows of the matrix, those of variables 0, 1, 2 first, then of the others
  // from the last to the fourth: so the walk writes its results in order.
  const double* matrix = nullptr;
  int variables = 0;
  SubsetRows rows;
  double* space = nullptr;   // SubsetWorkSpace() doubles at a multiple of 64 bytes
  double* result = nullptr;  // 2^variables
};

using SubsetWalk = void(const SubsetWork& work);

SubsetWalk WalkSubsetsPlain;
SubsetWalk WalkSubsetsAvx2;
SubsetWalk WalkSubsetsAvx512;

}  // namespace reveza::phi
