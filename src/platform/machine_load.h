// How busy the machine is: CPU time, load, memory. Nothing where a file does not say, never 0.
// Thread-safety: pure functions of the files.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/bytes.h"

namespace reveza::platform {

// Since boot, over all cores. Two of these make a share.
struct CpuTicks {
  std::uint64_t busy = 0;
  std::uint64_t idle = 0;  // with waiting for storage
  unsigned cores = 0;
  bool operator==(const CpuTicks&) const = default;
};
std::optional<CpuTicks> ReadCpuTicks(const std::filesystem::path& root = "/");

// Over 1, 5 and 15 minutes.
std::optional<std::array<double, 3>> ReadLoad(const std::filesystem::path& root = "/");

struct MachineMemory {
  Bytes total = 0;
  Bytes available = 0;  // MemAvailable
  std::optional<Bytes> swap_total;
  std::optional<Bytes> swap_free;
  bool operator==(const MachineMemory&) const = default;
};
std::optional<MachineMemory> ReadMachineMemory(const std::filesystem::path& root = "/");

}  // namespace reveza::platform
