// What a run or a measure may use: the device that computes cycles, CPU or GPU, which produce the
// same bits, threads and memory.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "phi/cycles/engine.h"
#include "phi/gpu/gpu_engine.h"
#include "phi/measures/window.h"

namespace reveza::phi {

struct Device {
  enum class Kind { kCpu, kGpu, kAuto };
  Kind kind = Kind::kCpu;
  int index = 0;
};

// Parses "cpu", "gpu", "gpu:N" or "auto" (a GPU if one with enough memory is available, else the
// CPU). Returns kInvalidArgument for anything else.
Result<Device> ParseDevice(const std::string& name);

// Returns the threads that `runs` runs use by default: OMP_NUM_THREADS, which job runners set to a
// program's share of the cores, or all cores, but with several runs per thread.
int DefaultThreads(int runs);

// Returns the maximum host memory of an engine on `device`, including states kept on the host.
Bytes MaxHostBytes(const Device& device, const EngineSettings& settings, const CpuOptions& cpu,
                   const GpuOptions& gpu);

// Creates the engine. With kAuto, falls back to the CPU if the GPU engine cannot be created.
Result<std::unique_ptr<CycleEngine>> MakeEngine(const Device& device,
                                                const EngineSettings& settings,
                                                const CpuOptions& cpu, GpuOptions gpu);

// Returns the memory that the machine, the control group and the address-space limit (ulimit -v)
// still allow, whichever is smallest; nothing if none of them is known.
std::optional<Bytes> FreeMemory();

// Returns kExhausted if `threads` concurrent tables of all subsets (multiplets.h) would exceed
// `available`. The message states the requirement and the alternatives.
Status CheckMultiplets(int variables, int threads, std::optional<Bytes> available);

}  // namespace reveza::phi
