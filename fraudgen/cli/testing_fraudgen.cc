#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {

// A file of its own, for its object differs with the folder in which it was built.
const char* FraudgenPath() { return REVEZA_FRAUDGEN; }

}  // namespace reveza::fraudgen::cli
