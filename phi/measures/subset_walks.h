// The walk over subsets for each instruction set. For subset_determinants.cc only.
#pragma once

#include <cstddef>

namespace reveza::phi {

// Which of a variable's `group` consecutive rows are included if it is in the subset ([in_begin,
// in_end)) and if it is not ([out_begin, out_end)).
struct SubsetRows {
  int group = 1;
  int in_begin = 0;
  int in_end = 1;
  int out_begin = 0;
  int out_end = 0;
};

inline constexpr int kMaxSubsetVariables = 30;

struct SubsetWork {
  // All variables * group rows of the matrix: those of variables 0, 1, 2 first, then the others
  // from the last to the fourth, so that results are written in order.
  const double* matrix = nullptr;
  int variables = 0;
  SubsetRows rows;
  double* space = nullptr;   // SubsetWorkSpace() doubles, aligned to 64 bytes
  double* result = nullptr;  // 2^variables
};

using SubsetWalk = void(const SubsetWork& work);

SubsetWalk WalkSubsetsPlain;
SubsetWalk WalkSubsetsAvx2;
SubsetWalk WalkSubsetsAvx512;

}  // namespace reveza::phi
