// A command in one line, split into words as a shell would, without a shell.
// Thread-safety: a pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace reveza::runner {

// Blanks part words; '...', "..." and \ keep what is in them together. kInvalidArgument: a quote
// that is not closed; what only a shell would understand (| ; & < > ` $, outside of quotes).
Result<std::vector<std::string>> SplitWords(std::string_view line);

}  // namespace reveza::runner
