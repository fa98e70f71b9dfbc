#include "reveza/gpu/daemon/gpus.h"

#include <algorithm>
#include <utility>

#include "reveza/gpu/wire/messages.h"

namespace reveza::daemon {
namespace {

constexpr Bytes kGranularity = 2 * kMiB;

}  // namespace

Bytes GpuTable::ReserveFor(const Settings& settings, Bytes total) {
  const Bytes reserve = settings.gpu_reserve.value_or(std::min(total / 32, 512 * kMiB));
  return std::min(reserve, total);
}

scheduler::GpuConfig GpuTable::ConfigFor(const Settings& settings, Bytes total) {
  scheduler::GpuConfig config;
  config.total = total;
  const Bytes max_budget = total - ReserveFor(settings, total);
  config.budget = std::min(settings.gpu_budget.value_or(max_budget), max_budget);
  config.granule = std::clamp(RoundUp(config.budget / 64, kGranularity), kGranularity, 64 * kMiB);
  return config;
}

std::optional<GpuId> GpuTable::Register(const Uuid& uuid, Bytes total) {
  const auto known = std::ranges::find(gpus_, uuid, &Gpu::uuid);
  if (known != gpus_.end()) return static_cast<GpuId>(known - gpus_.begin());
  if (gpus_.size() == wire::kMaxGpus) return std::nullopt;
  Gpu gpu;
  gpu.uuid = uuid;
  gpu.config = ConfigFor(settings_, total);
  gpus_.push_back(std::move(gpu));
  return static_cast<GpuId>(gpus_.size() - 1);
}

void GpuTable::Observe(std::span<const nvml::GpuReading> readings, const std::set<pid_t>& clients,
                       const std::map<GpuId, std::set<pid_t>>& holders) {
  for (GpuId id = 0; id < gpus_.size(); ++id) {
    Gpu& gpu = gpus_[id];
    const auto reading = std::ranges::find(readings, gpu.uuid, &nvml::GpuReading::uuid);
    gpu.used.reset();
    if (reading == readings.end()) continue;
    if (!reading->name.empty()) gpu.name = reading->name;
    gpu.used = reading->used;
    // Without a process list the last one stays valid.
    if (!reading->processes) continue;
    const std::set<pid_t> seen_before = std::exchange(gpu.seen_last_read, {});
    gpu.external_processes.clear();
    std::set<pid_t> unseen;
    if (const auto entry = holders.find(id); entry != holders.end()) unseen = entry->second;
    for (const auto& process : *reading->processes) unseen.erase(process.pid);
    if (!unseen.empty()) continue;
    for (const auto& process : *reading->processes) {
      if (clients.contains(process.pid) || gpu.detached.contains(process.pid)) continue;
      gpu.seen_last_read.insert(process.pid);
      if (!seen_before.contains(process.pid)) continue;
      gpu.external_processes.push_back({process.pid, process.used.value_or(0)});
    }
  }
}

Bytes GpuTable::External(GpuId id) const {
  const Gpu& gpu = gpus_.at(id);
  Bytes detached = 0;
  for (const auto& [pid, bytes] : gpu.detached) detached += bytes;
  Bytes outside = 0;
  for (const ExternalProcess& process : gpu.external_processes) outside += process.bytes;
  // A budget smaller than the GPU leaves memory for external processes. Detached clients count
  // against the budget itself.
  const Bytes outside_budget =
      gpu.config.total - ReserveFor(settings_, gpu.config.total) - gpu.config.budget;
  return detached + (outside > outside_budget ? outside - outside_budget : 0);
}

}  // namespace reveza::daemon
