// What a process has mapped: how many mappings, which the kernel limits, and which files.
// Thread-safety: pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reveza::platform {

struct ProcessMaps {
  std::uint64_t count = 0;
  std::vector<std::string> libraries;  // files of which something may be executed, each once
  std::uint64_t uvm = 0;               // mappings of /dev/nvidia-uvm
  std::uint64_t uvm_bytes = 0;         // their size: CUDA's managed memory, and some MiB of its own
  bool operator==(const ProcessMaps&) const = default;
};

// The text of /proc/PID/maps.
ProcessMaps ParseProcessMaps(std::string_view text);

// Of a process, 0: of this one. Nothing when it cannot be read: another user's, or ended.
std::optional<ProcessMaps> ReadProcessMaps(pid_t pid, const std::filesystem::path& root = "/");

// The first library whose file name begins with `prefix`, such as "libcuda.so".
std::optional<std::string> FindLibrary(const ProcessMaps& maps, std::string_view prefix);

}  // namespace reveza::platform
