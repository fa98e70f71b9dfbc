// Which GPUs a step sees that was told so by its user. A pure function.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/gpu_monitor.h"

namespace reveza::runner {

struct DeviceNames {
  std::string visible;  // CUDA_VISIBLE_DEVICES
  std::string order;    // CUDA_DEVICE_ORDER; empty: not set
};

struct VisibleGpus {
  std::optional<std::vector<platform::Uuid>> only;  // nothing: nobody can tell, so it may be any
  std::string doubt;                                // why nobody can tell, in a line
};

// `gpus`: in the order of NVML, which is that of the bus. Names are numbers, UUIDs or beginnings of
// UUIDs. What begins with -1, or is empty, hides all.
VisibleGpus FindVisibleGpus(const DeviceNames& names, std::span<const platform::GpuReading> gpus);

}  // namespace reveza::runner
