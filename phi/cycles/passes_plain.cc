#include "phi/cycles/pass_templates.h"

namespace reveza::phi {

const CyclePasses kPlainPasses = MakePasses<ScalarLanes>();

}  // namespace reveza::phi
