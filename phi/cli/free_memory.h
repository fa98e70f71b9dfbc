// Memory available to this process, and the check of partition searches against it. Thread-safe.
#pragma once

#include <optional>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "phi/measures/window.h"

namespace reveza::phi {

// Returns the memory that the machine, the control group and the address-space limit (ulimit -v)
// still allow, whichever is smallest; nothing if none of them is known.
std::optional<Bytes> FreeMemory();

// Returns kExhausted if the tables of `threads` concurrent partition searches over `variables`
// variables would exceed `available`. The message states the requirement and the alternatives.
Status CheckSearches(int variables, const WindowOptions& options, int threads,
                     std::optional<Bytes> available);

}  // namespace reveza::phi
