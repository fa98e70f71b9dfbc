#include "phi/arithmetic/avx2_lanes.h"
#include "phi/cycles/pass_templates.h"

namespace reveza::phi {

const CyclePasses kAvx2Passes = MakePasses<avx2::Lanes>();

}  // namespace reveza::phi
