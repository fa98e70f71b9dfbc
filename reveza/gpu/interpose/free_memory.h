// Free memory of a GPU, without NVML in this process: while the contexts of a process are off the
// card, the driver holds NVML's lock in it, and any call blocks until they are back.
#pragma once

#include <cuda.h>

#include <optional>

#include "common/base/bytes.h"

namespace reveza::interpose {

// Asks nvidia-smi, found in PATH, which takes some tenths of a second. Returns nullopt if it is
// missing, fails, does not answer within ten seconds, or does not know the GPU. The child process
// is not seen by the program: no SIGCHLD, and wait() does not return it.
std::optional<Bytes> FreeMemoryOf(const CUuuid& uuid);

}  // namespace reveza::interpose
