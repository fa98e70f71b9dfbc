// The GPUs that clients have named, their budgets, and what others hold of them.
//
// A GPU is known from the first client that wants a context on it. Memory outside Reveza lessens
// the budget: that of clients that run on without the daemon (`Lone`), and that of processes that
// NVML shows and nobody here knows. Thread-safety: none; the daemon's loop.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/settings.h"
#include "platform/gpu_monitor.h"
#include "scheduler/scheduler.h"

namespace reveza::daemon {

using platform::Uuid;
using scheduler::GpuId;

struct Outsider {
  pid_t pid = 0;
  Bytes bytes = 0;
};

struct Gpu {
  Uuid uuid{};
  std::string name;
  scheduler::GpuConfig config;
  std::map<pid_t, Bytes> lone;      // clients of ours without the daemon
  std::vector<Outsider> outsiders;  // processes that never came to us
  std::set<pid_t> seen_once;        // strangers at the last look
  std::optional<Bytes> used;        // of the whole card, as NVML says
};

class GpuTable {
 public:
  explicit GpuTable(const Settings& settings) : settings_(settings) {}

  // The number of the GPU, new or known. Nothing when there are too many.
  std::optional<GpuId> Register(const Uuid& uuid, Bytes total);
  Gpu& at(GpuId gpu) { return gpus_.at(gpu); }
  const Gpu& at(GpuId gpu) const { return gpus_.at(gpu); }
  std::size_t size() const { return gpus_.size(); }

  // Takes over what NVML says. `clients` are all our processes. `holders` are those that have a
  // context by our books: if one of them is missing in NVML's list, its process numbers are not
  // ours (a container), and nothing can be said about others. A process counts as outside when it
  // is seen twice in a row, because NVML shows a dead one for a moment.
  void Observe(std::span<const platform::GpuReading> readings, const std::set<pid_t>& clients,
               const std::map<GpuId, std::set<pid_t>>& holders);

  // Bytes that the budget must be lessened by: all that is outside and would not fit beside it.
  Bytes External(GpuId gpu) const;

  static scheduler::GpuConfig ConfigFor(const Settings& settings, Bytes total);
  static Bytes ReserveFor(const Settings& settings, Bytes total);

 private:
  const Settings& settings_;
  std::vector<Gpu> gpus_;
};

}  // namespace reveza::daemon
