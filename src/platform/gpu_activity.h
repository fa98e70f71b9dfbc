// How much of a GPU really works, and what goes over its link, from NVML.
//
// `sm_active` is the share of cycles in which a multiprocessor had work (GPM: Hopper and later).
// `some_resident` is what is often called utilisation: the share of time in which any kernel at
// all was there, were it on one multiprocessor of a hundred. One never stands in for the other.
// Thread-safety: none; one thread owns it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "platform/gpu_monitor.h"

namespace reveza::platform {

struct GpuActivityReading {
  Uuid uuid{};
  std::optional<double> sm_active;      // 0 to 1, since the reading before
  std::optional<double> some_resident;  // 0 to 1, of the driver's own last period
  std::optional<double> link_out;       // bytes a second from the GPU, since the reading before
  std::optional<double> link_in;
};

class GpuActivity {
 public:
  virtual ~GpuActivity() = default;
  // All GPUs; what needs two readings is nothing in the first one.
  virtual std::vector<GpuActivityReading> Read() = 0;
};

// Loads `library`; kUnavailable where there is none or it does not start.
Result<std::unique_ptr<GpuActivity>> LoadGpuActivity(const char* library = "libnvidia-ml.so.1");

// Says what it was told.
class FakeGpuActivity : public GpuActivity {
 public:
  std::vector<GpuActivityReading> Read() override { return readings; }
  std::vector<GpuActivityReading> readings;
};

}  // namespace reveza::platform
