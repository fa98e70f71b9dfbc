// Where this process may make control groups with a memory limit of their own, for the programs
// that it starts, and what such a group holds. Thread-safety: pure functions of the files.
#pragma once

#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"

namespace reveza::platform {

struct CgroupGround {
  int version = 0;               // 1 or 2
  std::filesystem::path folder;  // groups are made below it
  // Version 2 lets a group have processes or limited groups, not both: this process is the only
  // one in `folder`, and has to move into a group below it first.
  bool must_leave = false;
  // `memory` has to be written to its cgroup.subtree_control.
  bool must_enable = false;
};

// Its own group, or with version 2 the one above, where that has been given to this user and no
// limit of its own group (memory, swap, CPU time, number of processes) would be escaped from. An
// error says why there is none, and nothing was changed. kUnavailable: other programs are in it,
// and may leave. Source of the rules: "Delegation" and "No Internal Process Constraint" in
// Documentation/admin-guide/cgroup-v2.rst of Linux.
Result<CgroupGround> FindCgroupGround(const std::filesystem::path& root = "/");

// What the programs of a group have themselves: anonymous and shared memory, page cache of files
// not counted. Nothing when it cannot be read.
std::optional<Bytes> ProgramMemoryOf(const std::filesystem::path& group, int version);

}  // namespace reveza::platform
