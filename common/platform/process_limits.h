// Resource limits of a process, in the units of setrlimit(), its usage, memory mappings and
// threads. Unavailable values are nullopt, never 0. Pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace reveza::platform {

// nullopt: unlimited.
struct Limit {
  std::optional<std::uint64_t> soft;
  std::optional<std::uint64_t> hard;
  bool operator==(const Limit&) const = default;
};

struct ProcessLimits {
  Limit address_space;  // RLIMIT_AS, bytes
  Limit data;           // RLIMIT_DATA, bytes
  Limit stack;          // RLIMIT_STACK, bytes
  Limit processes;      // RLIMIT_NPROC, processes and threads of the user together
  Limit open_files;     // RLIMIT_NOFILE, descriptors
  Limit locked_memory;  // RLIMIT_MEMLOCK, bytes
  bool operator==(const ProcessLimits&) const = default;
};

// Parses /proc/PID/limits. Missing lines mean unlimited.
ProcessLimits ParseProcessLimits(std::string_view text);

// Reads the limits of a process (0: this one), which remain readable until a dead process is
// reaped. kNotFound if there is no such process or /proc hides it.
Result<ProcessLimits> ReadProcessLimits(pid_t pid, const std::filesystem::path& root = "/");

// From /proc/PID/status, in bytes. Fields that a zombie or kernel thread lacks are nullopt.
struct ProcessUse {
  std::optional<std::uint64_t> address_space;  // VmSize
  std::optional<std::uint64_t> address_peak;   // VmPeak
  std::optional<std::uint64_t> data;           // VmData
  std::optional<std::uint64_t> locked;         // VmLck: mlock()
  std::optional<std::uint64_t> pinned;         // VmPin: pinned by device drivers
  std::optional<bool> huge_pages_allowed;      // THP_enabled; prctl() can disable it
  std::optional<std::uint64_t> threads;
  std::optional<bool> exempt_from_process_limit;  // root, or with a capability that lifts it
  std::optional<std::uint64_t> open_files;        // entries of /proc/PID/fd, if readable
  bool operator==(const ProcessUse&) const = default;
};
ProcessUse ReadProcessUse(pid_t pid, const std::filesystem::path& root = "/");

// From /proc/PID/smaps_rollup, in bytes. Only for processes of the same user, and expensive: the
// kernel walks all pages.
struct ProcessPages {
  std::optional<std::uint64_t> resident;  // Rss
  std::optional<std::uint64_t> huge;      // AnonHugePages: transparent huge pages
  bool operator==(const ProcessPages&) const = default;
};
ProcessPages ReadProcessPages(pid_t pid, const std::filesystem::path& root = "/");

// The mappings, whose number the kernel limits.
struct ProcessMaps {
  std::uint64_t count = 0;
  std::vector<std::string> libraries;  // files with executable mappings, each once
  std::uint64_t uvm = 0;               // mappings of /dev/nvidia-uvm
  std::uint64_t uvm_bytes = 0;         // their size: CUDA managed memory, plus some MiB of overhead
  bool operator==(const ProcessMaps&) const = default;
};

// Reads the mappings of a process (0: this one). nullopt if it has exited or is another user's.
std::optional<ProcessMaps> ReadProcessMaps(pid_t pid, const std::filesystem::path& root = "/");

// Returns the first library whose file name begins with `prefix`, such as "libcuda.so".
std::optional<std::string> FindLibrary(const ProcessMaps& maps, std::string_view prefix);

struct ThreadState {
  pid_t thread = 0;
  char state = '?';         // R running or runnable, S sleeping, D uninterruptible, ...
  std::uint64_t ticks = 0;  // CPU time; sysconf(_SC_CLK_TCK) per second
  // Voluntary context switches; only on request, since they need a second file.
  std::optional<std::uint64_t> waits;
  bool operator==(const ThreadState&) const = default;
};

// Reads at most `max` threads of a process (0: this one).
std::vector<ThreadState> ReadThreads(pid_t pid, bool with_waits, std::size_t max = 512,
                                     const std::filesystem::path& root = "/");

}  // namespace reveza::platform
