// How much memory a step may take before it is ended, from what it is expected to need.
// Pure functions.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "runner/decide/claims.h"

namespace reveza::runner {

// What was declared, and a tenth more, at least 32 MiB: a limit counts page tables and the kernel's
// own as well. What was learned, twice: other parameters may need more, and what runs away is
// caught all the same. And what it needs on the GPU, which is in host memory while others have
// their turn, with 256 MiB that are left free then: without room for that, nobody would ever leave.
// Nothing for a guess, and nothing for what was learned when this is the `last_turn` of a step that
// died of memory before: others of its command needed less, which is no reason never to let it end.
std::optional<Bytes> MemoryLimitFor(const Need& need, bool last_turn = false);

}  // namespace reveza::runner
