#include "phi/arithmetic/avx2_lanes.h"
#include "phi/arithmetic/kernel_templates.h"

namespace reveza::phi {

const ArithmeticKernels kAvx2Kernels = MakeKernels<avx2::Lanes>();

}  // namespace reveza::phi
