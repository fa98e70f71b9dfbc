// The host memory that is left: the one reader for libreveza.so, the daemon, the runner and the
// doctor. Libc only, because it is part of libreveza.so; cgroup.h and machine.h offer it as C++.
//
// Considers the machine (MemAvailable) and every control group from the process's own up to the
// mount, of version 1 or 2. `root` is "" or, in tests, a directory with copies of /proc and /sys.
// Pure functions of the files; thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "common/base/bytes.h"

namespace reveza::platform {

inline constexpr std::size_t kMaxGroupPath = 4096;

// kNone: there is no such group or limit. kUnreadable: there may be one, but there is no descriptor
// or memory to read it.
enum class GroupReading { kFound, kNone, kUnreadable };

// Where the files of a controller are for one process: `mount` (with the root) + `group`, which is
// empty for the mount itself and else begins with '/'.
struct GroupPlace {
  int version = 0;  // 1 or 2
  char mount[kMaxGroupPath] = "";
  char group[kMaxGroupPath] = "";
};

// Finds the group of a process (0: this one). A path outside the mount, as in some containers,
// means the mount itself.
GroupReading FindGroup(const char* controller, pid_t pid, const char* root, GroupPlace* place);

// The memory limit of which the least is left.
struct GroupMemory {
  Bytes limit = 0;
  // Without page cache that the kernel drops before it reaches the limit: inactive_file and
  // active_file, less what must be written first (file_dirty, file_writeback).
  Bytes used = 0;
  const char* file = "";  // memory.max, memory.high or memory.limit_in_bytes
  char folder[2 * kMaxGroupPath] = "";

  Bytes left() const { return limit > used ? limit - used : 0; }
};

// Reads the group of a process and those above it. memory.high counts as a limit: beyond it the
// kernel stalls the processes.
GroupReading ReadGroupMemory(pid_t pid, const char* root, GroupMemory* memory);

// Returns the host memory in bytes that this process may still take. A missing file imposes no
// limit; 0 if one cannot be read.
Bytes HostHeadroom(const char* root);

// Writes which limit HostHeadroom() comes from and how to raise it, as the end of a sentence.
void DescribeHostLimit(const char* root, char* text, std::size_t capacity);

}  // namespace reveza::platform
