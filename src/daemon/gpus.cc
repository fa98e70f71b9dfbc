#include "daemon/gpus.h"

#include <algorithm>
#include <utility>

#include "wire/messages.h"

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
  const Bytes most = total - ReserveFor(settings, total);
  config.budget = std::min(settings.gpu_budget.value_or(most), most);
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

void GpuTable::Observe(std::span<const platform::GpuReading> readings,
                       const std::set<pid_t>& clients,
                       const std::map<GpuId, std::set<pid_t>>& holders) {
  for (GpuId id = 0; id < gpus_.size(); ++id) {
    Gpu& gpu = gpus_[id];
    const auto reading = std::ranges::find(readings, gpu.uuid, &platform::GpuReading::uuid);
    gpu.used.reset();
    if (reading == readings.end()) continue;
    if (!reading->name.empty()) gpu.name = reading->name;
    gpu.used = reading->used;
    // Who cannot be looked at holds what was seen last.
    if (!reading->processes) continue;
    const std::set<pid_t> seen_before = std::exchange(gpu.seen_once, {});
    gpu.outsiders.clear();
    std::set<pid_t> unseen;
    if (const auto entry = holders.find(id); entry != holders.end()) unseen = entry->second;
    for (const auto& process : *reading->processes) unseen.erase(process.pid);
    if (!unseen.empty()) continue;
    for (const auto& process : *reading->processes) {
      if (clients.contains(process.pid) || gpu.lone.contains(process.pid)) continue;
      gpu.seen_once.insert(process.pid);
      if (!seen_before.contains(process.pid)) continue;
      gpu.outsiders.push_back({process.pid, process.used.value_or(0)});
    }
  }
}

Bytes GpuTable::External(GpuId id) const {
  const Gpu& gpu = gpus_.at(id);
  Bytes lone = 0;
  for (const auto& [pid, bytes] : gpu.lone) lone += bytes;
  Bytes outside = 0;
  for (const Outsider& outsider : gpu.outsiders) outside += outsider.bytes;
  // A budget that is smaller than the card leaves room beside it, which outsiders may use. Our
  // own clients hold part of the budget, wherever they are.
  const Bytes beside =
      gpu.config.total - ReserveFor(settings_, gpu.config.total) - gpu.config.budget;
  return lone + (outside > beside ? outside - beside : 0);
}

}  // namespace reveza::daemon
