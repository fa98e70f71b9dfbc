// The machine's cores, memory, load, pressure and system-wide limits. Unavailable values are
// nullopt, never 0. Pure functions of the files, but for the name.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"

namespace reveza::platform {

// Returns the CPU affinity of a process (0: this one).
std::optional<std::vector<unsigned>> AllowedCpus(pid_t pid = 0,
                                                 const std::filesystem::path& root = "/");

// Returns the name of the machine; "unknown" if the kernel does not say.
std::string HostName();

struct MachineCores {
  std::optional<unsigned> online;   // of the machine
  std::optional<unsigned> allowed;  // for the process (Cpus_allowed_list)
};
MachineCores ReadMachineCores(pid_t pid = 0, const std::filesystem::path& root = "/");

// From /proc/meminfo.
struct CommitState {
  std::optional<Bytes> total;
  std::optional<Bytes> available;
  std::optional<Bytes> committed;     // Committed_AS
  std::optional<Bytes> commit_limit;  // CommitLimit: effective only with overcommit 2
  std::optional<Bytes> swap_total;
  std::optional<Bytes> swap_free;
  std::optional<Bytes> unevictable;     // Unevictable: locked by programs, never swapped
  std::optional<Bytes> driver_pages;    // unaccounted memory: pages that drivers allocated
  std::optional<Bytes> huge_pages;      // AnonHugePages: transparent huge pages in use
  std::optional<Bytes> reserved_free;   // free preallocated huge pages (hugetlbfs)
  std::optional<Bytes> huge_page_size;  // size of a preallocated huge page
};
CommitState ReadCommitState(const std::filesystem::path& root = "/");

// From /proc/sys and /sys.
struct KernelLimits {
  std::optional<std::uint64_t> max_map_count;  // mappings of one process
  std::optional<std::uint64_t> threads_max;    // threads of the machine
  std::optional<std::uint64_t> pid_max;        // thread ids
  std::optional<std::uint64_t> overcommit;     // 0 heuristic, 1 always, 2 never
  std::optional<std::uint64_t> threads_now;    // of the machine, from /proc/loadavg
  std::optional<std::string> huge_pages;       // "always", "madvise", "never"
  std::optional<std::string> huge_page_wait;   // THP defrag mode: "always", "defer", "madvise", ...
};
KernelLimits ReadKernelLimits(const std::filesystem::path& root = "/");

// CPU time since boot, summed over all cores.
struct CpuTicks {
  std::uint64_t busy = 0;
  std::uint64_t idle = 0;  // including I/O wait
  unsigned cores = 0;
  struct Core {
    std::uint64_t busy = 0;
    std::uint64_t idle = 0;
    bool operator==(const Core&) const = default;
  };
  std::vector<Core> each = {};  // in the order of /proc/stat
  bool operator==(const CpuTicks&) const = default;
};
std::optional<CpuTicks> ReadCpuTicks(const std::filesystem::path& root = "/");

// Returns the load average over 1, 5 and 15 minutes.
std::optional<std::array<double, 3>> ReadLoad(const std::filesystem::path& root = "/");

struct MachineMemory {
  Bytes total = 0;
  Bytes available = 0;  // MemAvailable
  std::optional<Bytes> swap_total;
  std::optional<Bytes> swap_free;
  bool operator==(const MachineMemory&) const = default;
};
std::optional<MachineMemory> ReadMachineMemory(const std::filesystem::path& root = "/");

// Returns the smallest limit - usage of this process's memory cgroup and its ancestors; reclaimable
// page cache does not count as used. Versions 1 and 2. nullopt without a limit.
std::optional<Bytes> CgroupHeadroom(const std::filesystem::path& root = "/");

// Returns the smaller of MemAvailable and CgroupHeadroom(), as far as known.
std::optional<Bytes> MemoryHeadroom(const std::filesystem::path& root = "/");

// Returns the number of OOM kills since boot (/proc/vmstat), including those by cgroup limits.
// nullopt if the kernel does not count them.
std::optional<std::uint64_t> OutOfMemoryKills(const std::filesystem::path& root = "/");

// Pressure stall information (Documentation/accounting/psi.rst of Linux): the share of time in
// which tasks waited for CPU, memory or I/O. nullopt if the kernel lacks or disables it, never 0.
// Pure functions of the files.

// Running averages, in percent of the time.
struct PressureLine {
  double average_10s = 0;
  double average_60s = 0;
  double average_300s = 0;
  std::chrono::microseconds total{0};  // since boot, or since the cgroup was created
  bool operator==(const PressureLine&) const = default;
};

struct Pressure {
  PressureLine some;                 // at least one task was stalled
  std::optional<PressureLine> full;  // all tasks were stalled; absent for CPU in old kernels
  bool operator==(const Pressure&) const = default;
};

struct Pressures {
  std::optional<Pressure> cpu;
  std::optional<Pressure> memory;
  std::optional<Pressure> io;
  bool operator==(const Pressures&) const = default;
};

// Parses the text of a pressure file. nullopt if it is malformed.
std::optional<Pressure> ParsePressure(std::string_view text);

// Returns the machine's pressure (/proc/pressure).
Pressures MachinePressure(const std::filesystem::path& root = "/");

// Returns the pressure of the version 2 cgroup of a process (0: this one), also in hybrid mode.
// nullopt for a process in the root cgroup, where the machine's pressure applies.
Pressures CgroupPressure(pid_t pid = 0, const std::filesystem::path& root = "/");

}  // namespace reveza::platform
