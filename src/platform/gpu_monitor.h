// What is seen of the GPUs from outside the programs: through NVML, where it is there. Every value
// may be missing, and then is nothing, never 0.
// Thread-safety: none; one thread owns a monitor.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace reveza::platform {

using Uuid = std::array<std::uint8_t, 16>;

// "GPU-5b1c6ab0-..." and back.
std::string FormatUuid(const Uuid& uuid);
std::optional<Uuid> ParseUuid(const std::string& text);

struct GpuProcess {
  pid_t pid = 0;
  std::optional<Bytes> used;
};

struct GpuReading {
  Uuid uuid{};  // all zero: it does not say who it is, nor anything else
  std::string name;
  std::optional<Bytes> total;
  std::optional<Bytes> used;
  std::optional<std::vector<GpuProcess>> processes;
};

class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  // All GPUs as they are now, in NVML's order; nothing where it cannot be read how many there are.
  virtual std::optional<std::vector<GpuReading>> Read() = 0;
};

// Loads `library`; kUnavailable where there is none or it does not start.
Result<std::unique_ptr<GpuMonitor>> LoadNvml(const char* library = "libnvidia-ml.so.1");

// Says what it was told.
class FakeGpuMonitor : public GpuMonitor {
 public:
  std::optional<std::vector<GpuReading>> Read() override {
    if (broken) return std::nullopt;
    return readings;
  }
  std::vector<GpuReading> readings;
  bool broken = false;
};

}  // namespace reveza::platform
