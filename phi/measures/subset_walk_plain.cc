#include "phi/measures/subset_walk.h"

namespace reveza::phi {

void WalkSubsetsPlain(const SubsetWork& work) { Walk(work).Run(); }

}  // namespace reveza::phi
