#include "reveza/jobs/decide/machine_reading.h"

#include <algorithm>

#include "common/platform/cgroup.h"
#include "common/platform/pressure.h"
#include "common/platform/process_table.h"

namespace reveza::jobs {
namespace {

// With this much available, memory stalls stem from a cgroup at its own limit.
bool HasAmpleMemory(const platform::MachineMemory& memory) {
  return memory.available >= memory.total / 2;
}

std::optional<double> Larger(std::optional<double> one, std::optional<double> other) {
  if (!one || !other) return one ? one : other;
  return std::max(*one, *other);
}

constexpr std::chrono::milliseconds kMinInterval{500};
constexpr double kSmoothing = 0.3;  // weight of the latest sample
constexpr double kMinBusy = 0.5;

}  // namespace

MachineReading ReadMachine(std::chrono::nanoseconds now, const std::filesystem::path& root) {
  MachineReading reading;
  reading.now = now;
  const auto memory = platform::ReadMachineMemory(root);
  if (memory) {
    reading.memory_total = memory->total;
    reading.memory_available = memory->available;
  }
  if (const auto group = platform::ReadCgroupMemory(0, root)) {
    reading.memory_total = std::min(reading.memory_total.value_or(group->limit), group->limit);
    reading.cgroup_headroom = group->left();
  }
  const auto take = [&](const platform::Pressures& pressures) {
    if (!pressures.memory) return;
    reading.memory_some = Larger(reading.memory_some, pressures.memory->some.average_10s);
    if (!pressures.memory->full) return;
    reading.memory_full = Larger(reading.memory_full, pressures.memory->full->average_10s);
  };
  if (!memory || !HasAmpleMemory(*memory)) take(platform::MachinePressure(root));
  take(platform::CgroupPressure(0, root));
  return reading;
}

double UsableCores(const std::filesystem::path& root) {
  constexpr double kMinCores = 0.01;
  const platform::MachineCores cores = platform::ReadMachineCores(0, root);
  double usable = cores.allowed.value_or(cores.online.value_or(1));
  if (const auto set = platform::ReadCgroupCpus(0, root)) usable = std::min<double>(usable, *set);
  if (const auto quota = platform::ReadCgroupQuota(0, root)) {
    usable = std::min(usable, quota->cpus);
  }
  return std::max(kMinCores, usable);
}

std::optional<std::vector<GpuMemory>> GpuMemoryOf(std::span<const nvml::GpuReading> gpus) {
  std::vector<GpuMemory> known;
  for (const nvml::GpuReading& gpu : gpus) {
    if (gpu.total && gpu.used) known.push_back({gpu.uuid, *gpu.total, *gpu.used});
  }
  if (known.empty() && !gpus.empty()) return std::nullopt;
  return known;
}

void ExternalLoad::Update(nanoseconds now, const platform::CpuTicks& machine, nanoseconds own_cpu) {
  if (last_ && now - last_->at < kMinInterval) return;
  const Sample sample{now, machine, own_cpu};
  if (last_ && machine.busy >= last_->machine.busy) {
    const double passed = std::chrono::duration<double>(now - last_->at).count();
    const double all = static_cast<double>(machine.busy - last_->machine.busy) /
                       static_cast<double>(platform::TicksPerSecond());
    const double own = std::chrono::duration<double>(own_cpu - last_->own_cpu).count();
    const double others = std::max(0.0, all - std::max(0.0, own)) / passed;
    busy_ = busy_ ? kSmoothing * others + (1 - kSmoothing) * *busy_ : others;
  }
  last_ = sample;
}

std::optional<double> ExternalLoad::BusyBeyond(double budget) const {
  if (!busy_) return std::nullopt;
  const double elsewhere = std::max(0.0, last_->machine.cores - budget);
  const double here = *busy_ - elsewhere;
  return here < kMinBusy ? 0 : here;
}

}  // namespace reveza::jobs
