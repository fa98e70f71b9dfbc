#include "phi/measures/subset_walk.h"

namespace reveza::phi {

const SubsetWalk kPlainSubsetWalk = {.start = StartWalk, .write = WriteBlock};

}  // namespace reveza::phi
