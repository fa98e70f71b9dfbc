// GPU utilisation and link throughput, from NVML.
//
// `sm_active` is the share of cycles in which a multiprocessor had work (GPM: Hopper and later).
// `some_resident` is NVML's "utilisation": the share of time in which any kernel was resident,
// even on a single multiprocessor. Neither is a substitute for the other.
// Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "common/base/error.h"
#include "reveza/gpu/nvml/gpu_monitor.h"

namespace reveza::nvml {

struct GpuActivityReading {
  Uuid uuid{};
  std::optional<double> sm_active;      // 0 to 1, since the previous Read()
  std::optional<double> some_resident;  // 0 to 1, over the driver's own sampling period
  std::optional<double> link_out;       // bytes per second from the GPU, since the previous Read()
  std::optional<double> link_in;
};

class GpuActivity {
 public:
  virtual ~GpuActivity() = default;
  // Returns one reading per GPU. Rates need two readings and are unset in the first one.
  virtual std::vector<GpuActivityReading> Read() = 0;
};

// Loads `library`; kUnavailable if it is missing or fails to initialise.
Result<std::unique_ptr<GpuActivity>> LoadGpuActivity(const char* library = "libnvidia-ml.so.1");

}  // namespace reveza::nvml
