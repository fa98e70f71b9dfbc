// The GPU daemon's memory accounting, as seen by admission: the budget of each GPU and what was
// granted of it. Pure functions.
#pragma once

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/jobs/decide/admission.h"

namespace reveza::jobs {

struct GpuLedger {
  // GPUs on which the daemon has had clients. `total`: the budget; `used`: granted memory plus that
  // of programs outside the daemon.
  std::vector<GpuMemory> gpus;
  std::optional<Bytes> budget;     // of every other GPU, if configured
  std::map<pid_t, Bytes> clients;  // memory of each client, on the GPU or swapped out
};

// Parses the output of `reveza status --json`; missing or mistyped fields are skipped.
// `same_pid_namespace`: whether the daemon sees our PIDs; if not, clients are skipped.
GpuLedger ParseGpuLedger(const nlohmann::json& status, bool same_pid_namespace);

// Overrides `measured` with the ledger's figures for the GPUs that it covers. Empty if neither has
// any.
std::optional<std::vector<GpuMemory>> ApplyLedger(std::optional<std::vector<GpuMemory>> measured,
                                                  const GpuLedger& ledger);

// Resolves CUDA_VISIBLE_DEVICES to GPUs. A pure function.
struct DeviceNames {
  std::string visible;  // CUDA_VISIBLE_DEVICES
  std::string order;    // CUDA_DEVICE_ORDER; empty: not set
};

struct VisibleGpus {
  std::optional<std::vector<nvml::Uuid>> gpus;  // empty: cannot be resolved, so any GPU
  std::string warning;                          // one line: why it cannot be resolved
};

// Resolves indices, UUIDs and UUID prefixes against `gpus`, which are in NVML (PCI bus) order. As
// in CUDA, -1 or an empty name ends the list.
VisibleGpus FindVisibleGpus(const DeviceNames& names, std::span<const nvml::GpuReading> gpus);

}  // namespace reveza::jobs
