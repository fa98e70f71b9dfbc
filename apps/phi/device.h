// Where cycles are computed: on the processor or on a GPU, with the same bits.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "phi/cycles/cpu_engine.h"
#include "phi/cycles/engine.h"
#include "phi/gpu/gpu_engine.h"

namespace reveza::phi {

// "cpu"; "gpu", "gpu:1"; "auto": a GPU where there is one with enough memory.
struct Device {
  enum class Kind { kCpu, kGpu, kAuto };
  Kind kind = Kind::kCpu;
  int index = 0;
};

// kInvalidArgument: what would be right.
Result<Device> DeviceOf(const std::string& name);

// The host memory that such an engine takes at most, with its states where they are on the host.
Bytes HostBytesOf(const Device& device, const EngineSettings& settings, const CpuOptions& cpu,
                  const GpuOptions& gpu);

Result<std::unique_ptr<CycleEngine>> MakeEngine(const Device& device,
                                                const EngineSettings& settings,
                                                const CpuOptions& cpu, GpuOptions gpu);

}  // namespace reveza::phi
