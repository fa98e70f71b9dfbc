// What this machine has and what its kernel allows to all: cores, memory, system-wide limits.
// Nothing where a file does not say, never 0.
// Thread-safety: pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace reveza::platform {

struct MachineCores {
  std::optional<unsigned> online;       // of the machine
  std::optional<unsigned> allowed;      // that the process may run on (Cpus_allowed_list)
  std::optional<unsigned> per_core_id;  // hardware threads of CPU 0's core
};
MachineCores ReadMachineCores(pid_t pid = 0, const std::filesystem::path& root = "/");

// From /proc/meminfo.
struct CommitState {
  std::optional<Bytes> total;
  std::optional<Bytes> available;
  std::optional<Bytes> committed;     // Committed_AS: promised to all processes
  std::optional<Bytes> commit_limit;  // CommitLimit: holds with overcommit 2 only
  std::optional<Bytes> swap_total;
  std::optional<Bytes> swap_free;
  std::optional<Bytes> unevictable;     // locked by programs: never written to swap
  std::optional<Bytes> driver_pages;    // in no list of the kernel: what drivers have taken whole
  std::optional<Bytes> huge_pages;      // AnonHugePages: transparent ones that programs have
  std::optional<Bytes> reserved_free;   // huge pages set aside by hand (hugetlbfs), not in use
  std::optional<Bytes> huge_page_size;  // of those
};
CommitState ReadCommitState(const std::filesystem::path& root = "/");

// From /proc/sys and /sys.
struct KernelLimits {
  std::optional<std::uint64_t> max_map_count;  // mappings of one process
  std::optional<std::uint64_t> threads_max;    // threads of the machine
  std::optional<std::uint64_t> pid_max;        // numbers for threads
  std::optional<std::uint64_t> overcommit;     // 0 guess, 1 always, 2 never
  std::optional<std::uint64_t> threads_now;    // of the machine, from /proc/loadavg
  std::optional<std::string> huge_pages;       // "always", "madvise", "never"
  std::optional<std::string>
      huge_page_wait;  // "always", "defer", "madvise", ...: who waits for one
};
KernelLimits ReadKernelLimits(const std::filesystem::path& root = "/");

}  // namespace reveza::platform
