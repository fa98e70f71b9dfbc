// Takes the readings that admission needs; a value that cannot be read is absent. Stateless.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "common/platform/machine.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/jobs/decide/admission.h"

namespace reveza::jobs {

// Reads memory and memory pressure of the machine and of our cgroup, the tighter of the two.
// Machine pressure is ignored while at least half of its memory is available: then it stems from
// another cgroup at its own limit. `external_cpus` and `gpus` are left to the caller.
MachineReading ReadMachine(std::chrono::nanoseconds now, const std::filesystem::path& root = "/");

// Returns the cores that this process and its children may use: the minimum of affinity mask,
// cpuset and quota. At least 0.01.
double UsableCores(const std::filesystem::path& root = "/");

// Returns the GPUs whose total and used memory are known; empty if there are GPUs but none reports
// them.
std::optional<std::vector<GpuMemory>> GpuMemoryOf(std::span<const nvml::GpuReading> gpus);

// Measures how many cores other programs keep busy: the machine's CPU time minus that of our steps,
// between two samples. Pure values. Not thread-safe.
class ExternalLoad {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // Adds a sample. `own_cpu`: CPU time of all steps so far, finished ones included. Ignored within
  // half a second of the last sample.
  void Update(nanoseconds now, const platform::CpuTicks& machine, nanoseconds own_cpu);

  // Returns the cores kept busy by others, exponentially smoothed; empty before the second sample.
  std::optional<double> busy() const { return busy_; }

  // Returns how many of the `budget` cores others keep busy, assuming they use cores outside the
  // budget first. Less than half a core is reported as 0.
  std::optional<double> BusyBeyond(double budget) const;

 private:
  struct Sample {
    nanoseconds at{0};
    platform::CpuTicks machine;
    nanoseconds own_cpu{0};
  };
  std::optional<Sample> last_;
  std::optional<double> busy_;
};

}  // namespace reveza::jobs
