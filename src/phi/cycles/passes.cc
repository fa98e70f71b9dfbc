#include "phi/cycles/passes.h"

namespace reveza::phi {

const CyclePasses& PassesOf(Instructions instructions) {
#ifdef __x86_64__
  if (instructions == Instructions::kAvx512) return kAvx512Passes;
  if (instructions == Instructions::kAvx2) return kAvx2Passes;
#endif
  static_cast<void>(instructions);
  return kPlainPasses;
}

}  // namespace reveza::phi
