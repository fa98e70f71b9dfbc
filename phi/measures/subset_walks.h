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
inline constexpr int kSubsetLanes = 8;

struct SubsetWork {
  // All variables * group rows of the matrix: those of variables 0, 1, 2 first, then the others
  // from the last to the fourth, so that results are written in order. Read by start() only.
  const double* matrix = nullptr;
  int variables = 0;
  int block_variables = 0;  // undecided in a block; at least 3, unless there are fewer
  SubsetRows rows;
  double* space = nullptr;  // SubsetWorkSpace() doubles, aligned to 64 bytes

  // The path to the block that was written last: by number of undecided variables, its matrices,
  // and the determinants of the rows that are decided.
  const double* from[kMaxSubsetVariables + 1] = {};
  alignas(64) double product[kMaxSubsetVariables + 1][kSubsetLanes] = {};
  std::size_t block = 0;
  bool has_block = false;
};

struct SubsetWalk {
  void (*start)(SubsetWork& work);
  // Writes the determinants of one block.
  void (*write)(SubsetWork& work, std::size_t block, double* out);
};

extern const SubsetWalk kPlainSubsetWalk;
#ifdef __x86_64__
extern const SubsetWalk kAvx2SubsetWalk;
extern const SubsetWalk kAvx512SubsetWalk;
#endif

}  // namespace reveza::phi
