#include "phi/cli/testing_phi.h"

namespace reveza::phi {

// In a separate file because the object depends on the build directory.
const char* PhiPath() { return REVEZA_PHI; }

}  // namespace reveza::phi
