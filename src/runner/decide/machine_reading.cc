#include "runner/decide/machine_reading.h"

#include <algorithm>

#include "platform/cgroup.h"
#include "platform/machine.h"
#include "platform/machine_load.h"
#include "platform/pressure.h"

namespace reveza::runner {
namespace {

// Where so much is available, whoever waits for memory waits at a limit of its own.
bool IsPlentiful(const platform::MachineMemory& memory) {
  return memory.available >= memory.total / 2;
}

std::optional<double> Larger(std::optional<double> one, std::optional<double> other) {
  if (!one || !other) return one ? one : other;
  return std::max(*one, *other);
}

}  // namespace

Reading ReadMachine(std::chrono::nanoseconds now, const std::filesystem::path& root) {
  Reading reading;
  reading.now = now;
  const auto memory = platform::ReadMachineMemory(root);
  if (memory) {
    reading.memory_total = memory->total;
    reading.memory_available = memory->available;
  }
  if (const auto group = platform::ReadCgroupMemory(0, root)) {
    reading.memory_total = std::min(reading.memory_total.value_or(group->limit), group->limit);
    reading.cgroup_headroom = group->limit > group->used ? group->limit - group->used : 0;
  }
  const auto take = [&](const platform::Pressures& pressures) {
    if (!pressures.memory) return;
    reading.memory_some = Larger(reading.memory_some, pressures.memory->some.average_10s);
    if (!pressures.memory->full) return;
    reading.memory_full = Larger(reading.memory_full, pressures.memory->full->average_10s);
  };
  if (!memory || !IsPlentiful(*memory)) take(platform::MachinePressure(root));
  take(platform::CgroupPressure(0, root));
  return reading;
}

double UsableCores(const std::filesystem::path& root) {
  constexpr double kLeast = 0.01;
  const platform::MachineCores cores = platform::ReadMachineCores(0, root);
  double usable = cores.allowed.value_or(cores.online.value_or(1));
  if (const auto set = platform::ReadCgroupCpus(0, root)) usable = std::min<double>(usable, *set);
  if (const auto quota = platform::ReadCgroupQuota(0, root)) {
    usable = std::min(usable, quota->cpus);
  }
  return std::max(kLeast, usable);
}

std::optional<std::vector<GpuMemory>> GpuMemoryOf(std::span<const platform::GpuReading> gpus) {
  std::vector<GpuMemory> known;
  for (const platform::GpuReading& gpu : gpus) {
    if (gpu.total && gpu.used) known.push_back({gpu.uuid, *gpu.total, *gpu.used});
  }
  if (known.empty() && !gpus.empty()) return std::nullopt;
  return known;
}

}  // namespace reveza::runner
