#include "phi/arithmetic/kernels.h"

namespace reveza::phi {

const ArithmeticKernels& KernelsOf(Instructions instructions) {
#ifdef __x86_64__
  if (instructions == Instructions::kAvx512) return kAvx512Kernels;
  if (instructions == Instructions::kAvx2) return kAvx2Kernels;
#endif
  static_cast<void>(instructions);
  return kPlainKernels;
}

}  // namespace reveza::phi
