// Readings set by a test, in place of NVML's.
#pragma once

#include <optional>
#include <vector>

#include "reveza/gpu/nvml/gpu_activity.h"
#include "reveza/gpu/nvml/gpu_monitor.h"

namespace reveza::nvml {

// Returns `readings`, or nullopt if `broken`.
class FakeGpuMonitor : public GpuMonitor {
 public:
  std::optional<std::vector<GpuReading>> Read() override {
    if (broken) return std::nullopt;
    return readings;
  }
  std::vector<GpuReading> readings;
  bool broken = false;
};

// Returns `readings`.
class FakeGpuActivity : public GpuActivity {
 public:
  std::vector<GpuActivityReading> Read() override { return readings; }
  std::vector<GpuActivityReading> readings;
};

}  // namespace reveza::nvml
