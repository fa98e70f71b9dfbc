// Diagnoses the GPUs from what NVML and /proc report. Values and pure functions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reveza/gpu/nvml/gpu_activity.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/gpu/nvml/gpu_settings.h"
#include "reveza/insight/doctor/finding.h"

namespace reveza::doctor {

// A process with CUDA managed memory, which migrates page by page.
struct ManagedMemory {
  std::string name;
  Bytes mapped = 0;
};

struct GpuState {
  nvml::GpuInventory inventory;
  std::vector<nvml::GpuReading> readings;
  std::vector<nvml::GpuActivityReading> activities;
  bool mps = false;  // NVIDIA's Multi-Process Service is running
  // CPU usage of the driver threads that serve GPU page faults; nullopt if they are invisible.
  std::optional<double> fault_cpus;
  std::vector<ManagedMemory> managed;
};

Findings DiagnoseGpus(const GpuState& seen);

// Diagnoses thrashing of managed memory. Returns one finding, or none without a GPU.
Findings DiagnosePageFaults(const GpuState& seen);

// Returns whether MPS is running, by its processes or its control socket.
bool IsMpsRunning(const std::filesystem::path& root = "/");

}  // namespace reveza::doctor
