#include "phi/measures/subset_walk.h"

namespace reveza::phi {

const SubsetWalk kAvx2SubsetWalk = {.start = StartWalk, .write = WriteBlock};

}  // namespace reveza::phi
