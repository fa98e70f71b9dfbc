#include "phi/measures/subset_walk.h"

namespace reveza::phi {

void WalkSubsetsAvx512(const SubsetWork& work) { Walk(work).Run(); }

}  // namespace reveza::phi
