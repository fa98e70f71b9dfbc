#include "phi/arithmetic/avx512_lanes.h"
#include "phi/cycles/pass_templates.h"

namespace reveza::phi {

const CyclePasses kAvx512Passes = MakePasses<avx512::Lanes>();

}  // namespace reveza::phi
