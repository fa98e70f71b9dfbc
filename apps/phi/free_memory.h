// How much memory this program may still take. Thread-safety: pure functions of the machine.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "phi/measures/window.h"

namespace reveza::phi {

// What the machine and the control group can give, and the limit of the address space (ulimit -v)
// leaves; nothing where none of them says.
std::optional<Bytes> FreeMemory();

// Refuses (kExhausted) to measure windows of so many variables, `threads` at a time, whose searches
// would fill tables that are more than `room`; says how much they take and what takes less.
Status CheckSearches(int variables, const WindowOptions& options, int threads,
                     std::optional<Bytes> room);

}  // namespace reveza::phi
