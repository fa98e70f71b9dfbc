// Memory and processes of all GPUs, from NVML. A value that NVML does not report is unset,
// never 0. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"

namespace reveza::nvml {

using Uuid = std::array<std::uint8_t, 16>;

// Convert to and from NVML's "GPU-5b1c6ab0-...".
std::string FormatUuid(const Uuid& uuid);
std::optional<Uuid> ParseUuid(const std::string& text);

struct GpuProcess {
  pid_t pid = 0;
  std::optional<Bytes> used;
};

struct GpuReading {
  Uuid uuid{};  // all zero: the GPU does not respond, and nothing else is set
  std::string name;
  std::optional<Bytes> total;
  std::optional<Bytes> used;
  std::optional<std::vector<GpuProcess>> processes;
};

class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  // Returns the current state of all GPUs in NVML order; nullopt if they cannot be enumerated.
  virtual std::optional<std::vector<GpuReading>> Read() = 0;
};

// Returns the memory of the largest GPU; nothing if there is none or that of any GPU is unknown.
std::optional<Bytes> LargestGpuMemory(GpuMonitor& monitor);

// Loads `library`; kUnavailable if it is missing or fails to initialise.
Result<std::unique_ptr<GpuMonitor>> LoadNvml(const char* library = "libnvidia-ml.so.1");

}  // namespace reveza::nvml
