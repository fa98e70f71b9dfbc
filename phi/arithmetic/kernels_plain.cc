#include "phi/arithmetic/kernel_templates.h"

namespace reveza::phi {

const ArithmeticKernels kPlainKernels = MakeKernels<ScalarLanes>();

}  // namespace reveza::phi
