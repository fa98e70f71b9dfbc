// What a process may have (its resource limits, in the units of setrlimit) and how much of it it
// has. Nothing where /proc does not say, never 0.
// Thread-safety: pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace reveza::platform {

// Nothing: unlimited.
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

// The text of /proc/PID/limits. Lines that are missing leave "unlimited".
ProcessLimits ParseProcessLimits(std::string_view text);

// Of a process, 0: of this one. They can be read until a dead process has been waited for.
// kNotFound: no such process, or /proc hides it.
Result<ProcessLimits> ReadProcessLimits(pid_t pid, const std::filesystem::path& root = "/");

// From /proc/PID/status; bytes. What a dead process or a kernel thread lacks is nothing.
struct ProcessUse {
  std::optional<std::uint64_t> address_space;  // VmSize
  std::optional<std::uint64_t> address_peak;   // VmPeak
  std::optional<std::uint64_t> data;           // VmData
  std::optional<std::uint64_t> locked;         // VmLck: by mlock
  std::optional<std::uint64_t> pinned;         // VmPin: by a device's driver that says so
  std::optional<bool> huge_pages_allowed;      // THP_enabled; prctl turns it off
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> open_files;  // entries of /proc/PID/fd, where they may be seen
  bool operator==(const ProcessUse&) const = default;
};
ProcessUse ReadProcessUse(pid_t pid, const std::filesystem::path& root = "/");

// From /proc/PID/smaps_rollup; bytes. For one's own processes only, and dear: the kernel walks all
// their pages.
struct ProcessPages {
  std::optional<std::uint64_t> resident;  // Rss
  std::optional<std::uint64_t> huge;      // AnonHugePages: of it in transparent huge pages
  bool operator==(const ProcessPages&) const = default;
};
ProcessPages ReadProcessPages(pid_t pid, const std::filesystem::path& root = "/");

}  // namespace reveza::platform
