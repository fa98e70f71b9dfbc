#include "reveza/jobs/decide/machine_reading.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/parse_number.h"
#include "common/platform/cgroup.h"
#include "common/platform/machine.h"
#include "common/platform/process_table.h"
#include "common/platform/text_file.h"
#include "reveza/insight/monitor/json_fields.h"

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

char Lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool BeginsWith(std::string_view text, std::string_view begin) {
  return text.size() >= begin.size() &&
         std::ranges::equal(text.substr(0, begin.size()), begin, {}, Lower, Lower);
}

std::string_view Trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Returns the GPU that the name denotes; null if none or more than one.
const nvml::GpuReading* Find(std::string_view name, std::span<const nvml::GpuReading> gpus) {
  if (const auto number = ParseNumber<unsigned>(name)) {
    return *number < gpus.size() ? &gpus[*number] : nullptr;
  }
  constexpr std::string_view kBegin = "GPU-";
  if (!BeginsWith(name, kBegin) || name.size() == kBegin.size()) return nullptr;
  const nvml::GpuReading* found = nullptr;
  for (const auto& gpu : gpus) {
    if (!BeginsWith(nvml::FormatUuid(gpu.uuid), name)) continue;
    if (found != nullptr) return nullptr;
    found = &gpu;
  }
  return found;
}

bool AreSameModel(std::span<const nvml::GpuReading> gpus) {
  return std::ranges::all_of(gpus, [&](const auto& gpu) { return gpu.name == gpus[0].name; });
}

VisibleGpus Warn(std::string why) { return {std::nullopt, std::move(why)}; }

}  // namespace

MachineReading ReadMachine(std::chrono::nanoseconds now, const std::filesystem::path& root) {
  MachineReading reading;
  reading.now = now;
  std::filesystem::path limited;  // the cgroup whose limit holds
  const auto memory = platform::ReadMachineMemory(root);
  if (memory) {
    reading.memory_total = memory->total;
    reading.memory_available = memory->available;
  }
  if (const auto group = platform::ReadCgroupMemory(0, root)) {
    reading.cgroup_limit = group->limit;
    reading.cgroup_headroom = group->left();
    limited = group->folder;
  }
  const auto take = [&](const std::optional<platform::Pressure>& pressure) {
    if (!pressure) return;
    reading.memory_some = Larger(reading.memory_some, pressure->some.average_10s);
    if (!pressure->full) return;
    reading.memory_full = Larger(reading.memory_full, pressure->full->average_10s);
  };
  if (!memory || !HasAmpleMemory(*memory)) take(platform::MachinePressure(root).memory);
  take(platform::CgroupPressure(0, root).memory);
  // The runner may be in a group of its own, without the steps.
  if (limited.empty()) return reading;
  const auto text = platform::ReadText(limited / "memory.pressure");
  if (text) take(platform::ParsePressure(*text));
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

StepsBound ReadStepsBound() {
  constexpr rlim_t kReserved = 64;  // of the runner itself
  constexpr rlim_t kProcesses = 4;  // of a step: its supervisor, and some for its program
  StepsBound bound;
  rlimit limit{};
  const auto lower = [&](rlim_t count, const char* reason) {
    if (limit.rlim_cur == RLIM_INFINITY || count >= bound.steps) return;
    bound = {std::max(1u, static_cast<unsigned>(count)), reason};
  };
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    lower(limit.rlim_cur - std::min(limit.rlim_cur, kReserved), "open files (ulimit -n)");
  }
  if (getrlimit(RLIMIT_NPROC, &limit) == 0) {
    lower(limit.rlim_cur / kProcesses, "processes (ulimit -u)");
  }
  return bound;
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

using monitor::ArrayAt;
using monitor::CountAt;
using monitor::ObjectAt;
using monitor::PidAt;
using monitor::TextAt;

GpuLedger ParseGpuLedger(const nlohmann::json& status, bool same_pid_namespace) {
  GpuLedger ledger;
  ledger.budget = CountAt(status, "gpu_budget");
  for (const auto& gpu : ArrayAt(status, "gpus")) {
    const auto uuid = nvml::ParseUuid(TextAt(gpu, "uuid"));
    const auto budget = CountAt(gpu, "budget");
    const auto credit = CountAt(gpu, "credit");
    if (!uuid || !budget || !credit) continue;
    const Bytes total = std::min(*budget, CountAt(gpu, "total").value_or(*budget));
    const Bytes used = *credit + CountAt(gpu, "external").value_or(0);
    ledger.gpus.push_back({*uuid, total, std::min(used, total)});
  }
  if (!same_pid_namespace) return ledger;
  for (const auto& client : ArrayAt(status, "clients")) {
    const auto pid = static_cast<pid_t>(PidAt(client, "pid"));
    if (pid == 0) continue;
    const auto& footprint = ObjectAt(client, "footprint");
    for (const char* part : {"resident", "swapped", "pinned", "context"}) {
      ledger.clients[pid] += CountAt(footprint, part).value_or(0);
    }
  }
  return ledger;
}

std::optional<std::vector<GpuMemory>> ApplyLedger(std::optional<std::vector<GpuMemory>> measured,
                                                  const GpuLedger& ledger) {
  if (measured && ledger.budget) {
    for (GpuMemory& gpu : *measured) gpu.total = std::min(gpu.total, *ledger.budget);
  }
  for (const GpuMemory& gpu : ledger.gpus) {
    if (!measured) measured.emplace();
    const auto same = std::ranges::find(*measured, gpu.uuid, &GpuMemory::uuid);
    if (same == measured->end()) {
      measured->push_back(gpu);
    } else {
      *same = gpu;
    }
  }
  return measured;
}

VisibleGpus FindVisibleGpus(const DeviceNames& names, std::span<const nvml::GpuReading> gpus) {
  if (gpus.empty()) return {};
  std::vector<nvml::Uuid> resolved;
  std::string_view left = names.visible;
  for (bool more = true; more;) {
    const auto comma = left.find(',');
    const std::string_view name = Trimmed(left.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) left.remove_prefix(comma + 1);
    // CUDA ignores the rest.
    if (name.empty() || name == "-1") break;
    if (ParseNumber<unsigned>(name) && names.order != "PCI_BUS_ID" && !AreSameModel(gpus)) {
      return Warn(
          fmt::format("CUDA_VISIBLE_DEVICES={}: CUDA numbers GPUs by speed and NVML by PCI bus, so "
                      "all GPUs are "
                      "considered; use UUIDs, or set CUDA_DEVICE_ORDER=PCI_BUS_ID",
                      names.visible));
    }
    const auto* gpu = Find(name, gpus);
    if (gpu == nullptr) {
      return Warn(fmt::format(
          "CUDA_VISIBLE_DEVICES={}: NVML reports no GPU '{}', so all GPUs are considered",
          names.visible, name));
    }
    resolved.push_back(gpu->uuid);
  }
  return {std::move(resolved), {}};
}

}  // namespace reveza::jobs
