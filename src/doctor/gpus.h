// What is seen of the GPUs, and what that means for programs that run beside each other.
// Thread-safety: values and pure functions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "doctor/isolate.h"
#include "platform/gpu_activity.h"
#include "platform/gpu_monitor.h"
#include "platform/gpu_settings.h"

namespace reveza::doctor {

// A process with managed memory, which the driver moves page by page.
struct Managed {
  std::string called;
  Bytes mapped = 0;
};

struct GpusSeen {
  platform::GpusSetUp set_up;
  std::vector<platform::GpuReading> readings;
  std::vector<platform::GpuActivityReading> activities;
  bool mps = false;  // NVIDIA's Multi-Process Service runs
  // CPU time per time of the driver's threads that serve page faults of the GPUs; nothing where
  // they cannot be seen.
  std::optional<double> fault_cpus;
  std::vector<Managed> managed;
};

Findings JudgeGpus(const GpusSeen& seen);

// Whether managed memory goes back and forth. One finding; none without a GPU.
Findings JudgeFaults(const GpusSeen& seen);

// Whether MPS runs: its processes, or the socket of its control.
bool MpsRuns(const std::filesystem::path& root = "/");

}  // namespace reveza::doctor
