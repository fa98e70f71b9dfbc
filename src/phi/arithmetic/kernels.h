// What is compiled once for each set of instructions: a table of functions. Thread-safe.
#pragma once

#include "phi/arithmetic/matrix_product.h"
#include "phi/arithmetic/phi_math.h"
#include "phi/arithmetic/processor.h"

namespace reveza::phi {

struct ArithmeticKernels {
  PanelProduct product;
  // The normal numbers of the first `groups` groups of 64 elements.
  void (*normals)(const DrawPosition& at, int groups, float* to);
  // Functions of phi_math.h for `count` numbers, a multiple of 16.
  void (*log)(const float* from, int count, float* to);
  void (*tanh)(const float* from, int count, float* to);
  // The sum of `groups` groups of 64 numbers (TreeSum), and of their squares.
  float (*sum)(const float* from, int groups);
  float (*sum_of_squares)(const float* from, int groups);
  // The sum of HashWord of `count` numbers, a multiple of 16, at positions from `first` on.
  std::uint64_t (*hash)(const float* from, int count, std::uint32_t first);
};

// Those that this build has for it; the plain ones where it has none (another processor family).
const ArithmeticKernels& KernelsOf(Instructions instructions);

extern const ArithmeticKernels kPlainKernels;
#ifdef __x86_64__
extern const ArithmeticKernels kAvx2Kernels;
extern const ArithmeticKernels kAvx512Kernels;
#endif

}  // namespace reveza::phi
