// The determinants of a correlation matrix restricted to each of the 2^n subsets of n variables.
//
// A depth-first walk over the variables: including a variable eliminates its rows from the rest of
// the matrix (a Schur complement), whose pivots multiply to the determinant; excluding it continues
// with the trailing part of the same matrix, at no cost. With g rows per variable, there are
// 2^(n-1-j) eliminations at the depth with j variables left, of g (g j)^2 / 2 multiplications each;
// all 2^n determinants cost about 3 g^3 2^(n-1), which is 1.5 (g = 1) or 12 (g = 2) per
// determinant, independent of n. Eight subsets, those of the first three variables, are processed
// in parallel lanes.
//
// Not thread-safe, except for different objects.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "phi/arithmetic/processor.h"
#include "phi/measures/matrix.h"
#include "phi/measures/subset_walks.h"

namespace reveza::phi {

// Computes the determinants a block of subsets at a time, so that they need not be kept.
class SubsetBlocks {
 public:
  // Variables of a block, if there are as many: its determinants stay in the first cache.
  static constexpr int kVariables = 10;

  // `matrix` must be symmetric and positive definite with `variables` * rows.group rows;
  // 1 <= variables <= kMaxSubsetVariables.
  SubsetBlocks(const Matrix& matrix, int variables, const SubsetRows& rows,
               Instructions instructions);

  // Returns the number of determinants of a block, and the number of blocks.
  std::size_t size() const { return std::size_t{1} << work_->block_variables; }
  std::size_t count() const {
    return std::size_t{1} << (work_->variables - work_->block_variables);
  }
  // Sets out[i] to the determinant for the variables whose bits are set in block * size() + i. The
  // bits do not depend on the instructions. The next or the previous block takes least time.
  void Write(std::size_t block, double* out) { walk_->write(*work_, block, out); }

 private:
  struct Release {
    void operator()(double* space) const;
  };

  const SubsetWalk* walk_;
  std::unique_ptr<SubsetWork> work_;
  std::unique_ptr<double[], Release> space_;
};

// Sets result[mask] to the determinant for the variables whose bits are set in `mask`.
void SubsetDeterminants(const Matrix& matrix, int variables, const SubsetRows& rows,
                        Instructions instructions, std::vector<double>& result);

// Returns the number of multiply-adds of SubsetDeterminants().
double SubsetDeterminantProducts(int variables, const SubsetRows& rows);

}  // namespace reveza::phi
