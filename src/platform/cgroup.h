// The control groups of a process: version 1, version 2, and both at once (hybrid). What holds is
// the least limit on the way from its own group up to the mount; what is above the mount (outside
// the container) cannot be seen. Nothing where there is no limit, never 0.
// Thread-safety: pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace reveza::platform {

// Where a controller's files for one process are.
struct CgroupPlace {
  int version = 0;              // 1 or 2
  std::filesystem::path mount;  // with the root in front
  std::filesystem::path group;  // below the mount; empty at the mount itself
};

// `controller`: "memory", "pids", "cpu", "cpuset". 0: this process.
std::optional<CgroupPlace> FindCgroup(std::string_view controller, pid_t pid = 0,
                                      const std::filesystem::path& root = "/");

struct CgroupMemory {
  Bytes limit = 0;
  Bytes used = 0;      // page cache that can be dropped not counted
  std::string folder;  // whose limit it is
};
// The one with the least left.
std::optional<CgroupMemory> ReadCgroupMemory(pid_t pid = 0,
                                             const std::filesystem::path& root = "/");
// How often the kernel killed something in the process's own group for memory.
std::optional<std::uint64_t> ReadCgroupOutOfMemoryKills(pid_t pid = 0,
                                                        const std::filesystem::path& root = "/");
// The same of a place of the controller "memory", when who was there is gone.
std::optional<std::uint64_t> OutOfMemoryKillsOf(const CgroupPlace& place);

struct CgroupTasks {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;  // processes and threads
  std::string folder;
};
std::optional<CgroupTasks> ReadCgroupTasks(pid_t pid = 0, const std::filesystem::path& root = "/");

struct CgroupQuota {
  double cpus = 0;                         // quota / period
  std::optional<std::uint64_t> periods;    // of its own group since it was made
  std::optional<std::uint64_t> throttled;  // of these, in which it had to wait
  std::string folder;
};
std::optional<CgroupQuota> ReadCgroupQuota(pid_t pid = 0, const std::filesystem::path& root = "/");

// How many CPUs its group's set has.
std::optional<unsigned> ReadCgroupCpus(pid_t pid = 0, const std::filesystem::path& root = "/");

// "0-3,8" is five. Nothing when it is no such list.
std::optional<unsigned> CountList(std::string_view text);

}  // namespace reveza::platform
