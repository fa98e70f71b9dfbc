// Queries the CUDA driver for the GPU in a child process, so that this process never initialises
// CUDA. Not thread-safe: forks.
#pragma once

#include <optional>
#include <string>

#include "common/base/bytes.h"

namespace reveza::cli {

struct ProbedGpu {
  Bytes total = 0;
  std::string name;
};

// Returns the first GPU; nothing if there is no driver or no GPU.
std::optional<ProbedGpu> ProbeGpu();

}  // namespace reveza::cli
