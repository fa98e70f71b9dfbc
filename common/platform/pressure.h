// Pressure stall information (Documentation/accounting/psi.rst of Linux): the share of time in
// which tasks waited for CPU, memory or I/O. nullopt if the kernel lacks or disables it, never 0.
// Pure functions of the files.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

namespace reveza::platform {

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
