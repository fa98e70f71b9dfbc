// The device that computes cycles, CPU or GPU. Both produce the same bits.
#pragma once

#include <memory>
#include <string>

#include "common/base/error.h"
#include "phi/cycles/cpu_engine.h"
#include "phi/cycles/engine.h"
#include "phi/gpu/gpu_engine.h"

namespace reveza::phi {

struct Device {
  enum class Kind { kCpu, kGpu, kAuto };
  Kind kind = Kind::kCpu;
  int index = 0;
};

// Parses "cpu", "gpu", "gpu:N" or "auto" (a GPU if one with enough memory is available, else the
// CPU). Returns kInvalidArgument for anything else.
Result<Device> ParseDevice(const std::string& name);

// Returns the maximum host memory of an engine on `device`, including states kept on the host.
Bytes MaxHostBytes(const Device& device, const EngineSettings& settings, const CpuOptions& cpu,
                   const GpuOptions& gpu);

// Creates the engine. With kAuto, falls back to the CPU if the GPU engine cannot be created.
Result<std::unique_ptr<CycleEngine>> MakeEngine(const Device& device,
                                                const EngineSettings& settings,
                                                const CpuOptions& cpu, GpuOptions gpu);

}  // namespace reveza::phi
