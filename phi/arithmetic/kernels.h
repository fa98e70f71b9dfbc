// Table of the functions that are compiled once per instruction set. Thread-safe.
#pragma once

#include "phi/arithmetic/matrix_product.h"
#include "phi/arithmetic/phi_math.h"
#include "phi/arithmetic/processor.h"

namespace reveza::phi {

struct ArithmeticKernels {
  PanelProduct product;
  // Writes the standard normal numbers of the first `groups` groups of 64 elements.
  void (*normals)(const DrawPosition& at, int groups, float* to);
  // Returns the sum of `groups` groups of 64 numbers (TreeSum).
  float (*sum)(const float* from, int groups);
  // Returns the sum of HashWord of `count` numbers, a multiple of 16, at positions `first`, ...
  std::uint64_t (*hash)(const float* from, int count, std::uint32_t first);
};

// Returns the kernels for `instructions`, or the plain ones on architectures other than x86-64.
const ArithmeticKernels& KernelsOf(Instructions instructions);

extern const ArithmeticKernels kPlainKernels;
#ifdef __x86_64__
extern const ArithmeticKernels kAvx2Kernels;
extern const ArithmeticKernels kAvx512Kernels;
#endif

}  // namespace reveza::phi
