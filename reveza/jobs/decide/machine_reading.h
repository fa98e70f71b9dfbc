// Takes the readings that admission needs; a value that cannot be read is absent. Stateless.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/bytes.h"
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

// How many steps the system lets run at once.
struct StepsBound {
  unsigned steps = 100'000;
  std::string reason = "processes";
};

// Returns the bound by this process's limits of open files and processes.
StepsBound ReadStepsBound();

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

// The GPU daemon's memory accounting, as seen by admission: the budget of each GPU and what was
// granted of it.
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
