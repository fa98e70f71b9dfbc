// A world from what `reveza trace` recorded. A trace does not tell everything:
//
// - each job is taken for busy while its gate was open, and its GPU work for kernels of twice the
//   mean time of its drains;
// - time in which its gate was closed and it did not wait is taken for sleep;
// - a job of several processes is one process with the memory of all.
//
// Thread-safe: free functions on values.
#pragma once

#include <string_view>

#include "common/base/error.h"
#include "reveza/gpu/simulator/world_file.h"

namespace reveza::simulator {

// kInvalidArgument: no trace of Reveza, or one without a job that ran.
Result<WorldFile> ParseTrace(std::string_view text, std::string_view name);

}  // namespace reveza::simulator
