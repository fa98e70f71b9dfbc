// The determinants of a correlation matrix restricted to each of the 2^n subsets of n variables.
//
// Depth first over the variables: to take one is to eliminate its rows from what is left of the
// matrix (a Schur complement), whose pivots multiply up to the determinant; to leave it is to look
// at the trailing part of the same matrix, which costs nothing. With g rows a variable the
// eliminations at the depth where j variables are left are 2^(n-1-j), of g (g j)^2 / 2
// multiplications each: all 2^n determinants cost about 3 g^3 2^(n-1) of them, 1.5 (g = 1) or 12 (g
// = 2) for each, whatever n is. Eight subsets, those of the first three variables, go side by side.
//
// Thread-safety: pure functions.
#pragma once

#include <vector>

#include "phi/arithmetic/processor.h"
#include "phi/measures/matrix.h"
#include "phi/measures/subset_walks.h"

namespace reveza::phi {

// result[mask] is the determinant for the variables whose bits are set in `mask`. `matrix` is
// symmetric and positive definite, of `variables` * rows.group rows; 1 <= variables <=
// kMostSubsetVariables. The same bits with all instructions.
void SubsetDeterminants(const Matrix& matrix, int variables, const SubsetRows& rows,
                        Instructions instructions, std::vector<double>& result);

// How many multiplications (each with an addition) it takes.
double SubsetDeterminantProducts(int variables, const SubsetRows& rows);

}  // namespace reveza::phi
