#include "testing_phi.h"

namespace reveza::phi {

// A file of its own, for its object differs with the folder in which it was built.
const char* PhiPath() { return REVEZA_PHI; }

}  // namespace reveza::phi
