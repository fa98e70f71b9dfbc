// Pressure stall information: how much of the time something waited for CPU, memory or storage.
// (Documentation/accounting/psi.rst of the kernel.)
//
// Nothing where the kernel has none, or where it is switched off: never 0.
// Thread-safety: pure functions of the files.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

namespace reveza::platform {

// Shares of the time in percent, as running averages.
struct PressureLine {
  double average_10s = 0;
  double average_60s = 0;
  double average_300s = 0;
  std::chrono::microseconds total{0};  // since boot, or since the cgroup was made
  bool operator==(const PressureLine&) const = default;
};

struct Pressure {
  PressureLine some;                 // at least one task waited
  std::optional<PressureLine> full;  // all waited; old kernels have none for CPU
  bool operator==(const Pressure&) const = default;
};

struct Pressures {
  std::optional<Pressure> cpu;
  std::optional<Pressure> memory;
  std::optional<Pressure> io;
  bool operator==(const Pressures&) const = default;
};

// The text of one such file. Nothing when it is anything else.
std::optional<Pressure> ParsePressure(std::string_view text);

// Of the machine: /proc/pressure.
Pressures MachinePressure(const std::filesystem::path& root = "/");

// Of the cgroup of a process (0: this one) in the version 2 hierarchy, mounted alone or beside
// version 1. Nothing for a process at its root: the machine's is what holds there.
Pressures CgroupPressure(pid_t pid = 0, const std::filesystem::path& root = "/");

}  // namespace reveza::platform
