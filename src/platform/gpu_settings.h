// How the GPUs are set up, from NVML: driver, modes, links, who can read whose memory. Every value
// may be missing, and then is nothing, never 0.
// Thread-safety: one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "platform/gpu_monitor.h"

namespace reveza::platform {

enum class ComputeMode {
  kShared,            // any number of processes
  kExclusiveProcess,  // one
  kProhibited,        // none
};

struct GpuSettings {
  Uuid uuid{};
  unsigned index = 0;  // NVML's
  std::string name;
  std::optional<ComputeMode> compute_mode;
  std::optional<bool> divided;     // MIG is on; nothing where the GPU has none
  std::optional<bool> persistent;  // the driver keeps it up when nobody uses it
  // PCIe: now, and the best that GPU and machine can do together. It falls when idle.
  std::optional<unsigned> link_generation;
  std::optional<unsigned> best_link_generation;
  std::optional<unsigned> link_lanes;
  std::optional<unsigned> best_link_lanes;
};

struct GpusSetUp {
  std::optional<std::string> driver;  // "535.104.05"
  std::optional<unsigned> cuda;       // newest CUDA that it knows: 12020 is 12.2
  std::vector<GpuSettings> gpus;
  std::vector<unsigned> silent;  // NVML's indices of those that are there and do not answer
  // Indices into `gpus` of pairs that cannot read each other's memory.
  std::vector<std::pair<std::size_t, std::size_t>> strangers;
};

// kUnavailable where there is no such library, or it does not start or cannot count its GPUs.
Result<GpusSetUp> ReadGpuSettings(const char* library = "libnvidia-ml.so.1");

}  // namespace reveza::platform
