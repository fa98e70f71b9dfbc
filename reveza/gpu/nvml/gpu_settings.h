// Configuration of the GPUs, from NVML: driver, modes, links, peer access. A value that NVML does
// not report is unset, never 0. ReadGpuSettings must not be called concurrently.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "reveza/gpu/nvml/gpu_monitor.h"

namespace reveza::nvml {

enum class ComputeMode {
  kShared,            // any number of processes
  kExclusiveProcess,  // one process
  kProhibited,        // no process
};

struct GpuSettings {
  Uuid uuid{};
  unsigned index = 0;  // NVML index
  std::string name;
  std::optional<ComputeMode> compute_mode;
  std::optional<bool> mig_enabled;       // unset: the GPU does not support MIG
  std::optional<bool> persistence_mode;  // the driver stays loaded without clients
  // PCIe: current, and the maximum that GPU and machine support. The current value drops when idle.
  std::optional<unsigned> link_generation;
  std::optional<unsigned> max_link_generation;
  std::optional<unsigned> link_lanes;
  std::optional<unsigned> max_link_lanes;
};

struct GpuInventory {
  std::optional<std::string> driver;  // "535.104.05"
  std::optional<unsigned> cuda;       // newest CUDA version supported: 12020 is 12.2
  std::vector<GpuSettings> gpus;
  std::vector<unsigned> unresponsive;  // NVML indices of GPUs that are present but do not respond
  // Pairs of indices into `gpus` without peer access.
  std::vector<std::pair<std::size_t, std::size_t>> no_peer_access;
};

// Reads the settings of all GPUs; kUnavailable if `library` is missing, fails to initialise or
// cannot enumerate its GPUs.
Result<GpuInventory> ReadGpuSettings(const char* library = "libnvidia-ml.so.1");

}  // namespace reveza::nvml
