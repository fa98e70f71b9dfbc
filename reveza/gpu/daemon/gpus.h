// Table of the GPUs in use: budgets and external memory.
//
// A GPU is registered by the first client that requests a context on it. External memory reduces
// the budget: of detached clients (running without the daemon) and of other processes that NVML
// reports.
//
// Not thread-safe; runs in the daemon's loop.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "reveza/gpu/daemon/settings.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::daemon {

using nvml::Uuid;
using scheduler::GpuId;

struct ExternalProcess {
  pid_t pid = 0;
  Bytes bytes = 0;
};

struct Gpu {
  Uuid uuid{};
  std::string name;
  scheduler::GpuConfig config;
  std::map<pid_t, Bytes> detached;                  // clients that lost their connection
  std::vector<ExternalProcess> external_processes;  // processes that are no clients
  std::set<pid_t> seen_last_read;                   // unknown processes in the last reading
  std::optional<Bytes> used;                        // of the whole GPU, from NVML
};

class GpuTable {
 public:
  explicit GpuTable(const Settings& settings) : settings_(settings) {}

  // Returns the number of the GPU, registering it if new; nullopt if the table is full.
  std::optional<GpuId> Register(const Uuid& uuid, Bytes total);
  Gpu& at(GpuId gpu) { return gpus_.at(gpu); }
  const Gpu& at(GpuId gpu) const { return gpus_.at(gpu); }
  std::size_t size() const { return gpus_.size(); }

  // Updates external memory from NVML. `clients` are the pids of all clients, `holders` of those
  // with a context: if NVML does not list one of them, it reports pids of another namespace
  // (container) and the reading is ignored. A process counts as external once it is seen in two
  // consecutive readings, because NVML briefly lists dead ones.
  void Observe(std::span<const nvml::GpuReading> readings, const std::set<pid_t>& clients,
               const std::map<GpuId, std::set<pid_t>>& holders);

  // Returns the bytes to deduct from the budget: external memory that does not fit beside it.
  Bytes External(GpuId gpu) const;

  static scheduler::GpuConfig ConfigFor(const Settings& settings, Bytes total);
  static Bytes ReserveFor(const Settings& settings, Bytes total);

 private:
  const Settings& settings_;
  std::vector<Gpu> gpus_;
};

}  // namespace reveza::daemon
