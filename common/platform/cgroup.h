// The control groups of a process: version 1, version 2 and hybrid. The effective limit is the
// smallest from the process's own group up to the mount; groups above the mount (outside the
// container) are invisible. Without a limit the result is nullopt, never 0. Pure functions of the
// files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/error.h"

namespace reveza::platform {

// The location of a controller's files for one process.
struct CgroupLocation {
  int version = 0;              // 1 or 2
  std::filesystem::path mount;  // including the root
  std::filesystem::path group;  // relative to the mount; empty for the mount itself

  std::filesystem::path folder() const { return group.empty() ? mount : mount / group; }
};

// Finds the group of a process (0: this one). `controller` is "memory", "pids", "cpu" or "cpuset".
std::optional<CgroupLocation> FindCgroup(std::string_view controller, pid_t pid = 0,
                                         const std::filesystem::path& root = "/");

// The limit of which the least is left.
struct CgroupUsage {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
  std::string folder;  // the group that has the limit
  std::string file{};  // in the folder

  std::uint64_t left() const { return limit > used ? limit - used : 0; }
};
// Returns the memory in bytes, as GroupMemory of memory_headroom.h.
std::optional<CgroupUsage> ReadCgroupMemory(pid_t pid = 0, const std::filesystem::path& root = "/");
// Returns the number of processes and threads.
std::optional<CgroupUsage> ReadCgroupTasks(pid_t pid = 0, const std::filesystem::path& root = "/");
// Returns the number of OOM kills in the group of a location of the controller "memory"; works
// after its process has exited.
std::optional<std::uint64_t> ReadOutOfMemoryKills(const CgroupLocation& place);
// Returns how many processes and threads pids.max has refused in the group of a location of the
// controller "pids"; works after its process has exited. nullopt: the kernel does not count them
// there, as in the root group.
std::optional<std::uint64_t> ReadTaskRefusals(const CgroupLocation& place);

struct CgroupQuota {
  double cpus = 0;                         // quota / period
  std::optional<std::uint64_t> periods;    // elapsed in the process's own group
  std::optional<std::uint64_t> throttled;  // of these, periods with throttling
  std::string folder;

  double left() const { return cpus; }
};
std::optional<CgroupQuota> ReadCgroupQuota(pid_t pid = 0, const std::filesystem::path& root = "/");

// Returns the number of CPUs in the group's cpuset.
std::optional<unsigned> ReadCgroupCpus(pid_t pid = 0, const std::filesystem::path& root = "/");

struct CgroupDelegation {
  int version = 0;               // 1 or 2
  std::filesystem::path folder;  // new groups go below it
  // Version 2 allows a group either processes or limited child groups: this process, the only one
  // in `folder`, must first move to a child group.
  bool must_leave = false;
  // "+memory" must be written to cgroup.subtree_control.
  bool must_enable = false;
};

// Returns the process's own group or, with version 2, its parent if that is delegated to this user
// and no limit of the own group (memory, swap, CPU time, processes) would be escaped. Changes
// nothing. An error explains why there is none; kUnavailable: other processes are in the group, and
// may leave. The rules: "Delegation" and "No Internal Process Constraint" in
// Documentation/admin-guide/cgroup-v2.rst of Linux.
Result<CgroupDelegation> FindCgroupDelegation(const std::filesystem::path& root = "/");

// Returns the anonymous and shared memory of a group's processes, without page cache. nullopt if it
// cannot be read.
std::optional<Bytes> ReadProgramMemory(const std::filesystem::path& group, int version);

}  // namespace reveza::platform
