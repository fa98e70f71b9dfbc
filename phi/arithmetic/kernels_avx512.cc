#include "phi/arithmetic/avx512_lanes.h"
#include "phi/arithmetic/kernel_templates.h"

namespace reveza::phi {

const ArithmeticKernels kAvx512Kernels = MakeKernels<avx512::Lanes>();

}  // namespace reveza::phi
