// How much host memory this process may still pin: what the machine has available and what its
// memory cgroup, walked up to the root, still allows. Libc only (part of libreveza.so).
#pragma once

#include "base/bytes.h"

namespace reveza::swap {

// Smallest of MemAvailable and memory.max - memory.current (cgroup v2) or limit - usage (v1) of
// every level that contains this process. `root` is "" or a directory that holds a copy of /proc
// and /sys, for tests. What cannot be read does not limit.
Bytes HostHeadroom(const char* root);

}  // namespace reveza::swap
