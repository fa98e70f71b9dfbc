#include "reveza/insight/doctor/gpus.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <system_error>

#include "common/base/units.h"
#include "common/platform/process_limits.h"
#include "common/platform/process_table.h"
#include "common/platform/text_file.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace {

using nvml::ComputeMode;
using nvml::GpuReading;
using nvml::GpuSettings;

constexpr double kMinFull = 0.95;
constexpr double kMinBusy = 0.8;
constexpr double kMaxEmpty = 0.3;

void DiagnoseSettings(const std::string& name, const GpuSettings& gpu, bool mps,
                      Findings& findings) {
  if (gpu.compute_mode == ComputeMode::kProhibited) {
    findings.push_back(MakeFinding(Id::kGpuComputeMode, Severity::kFatal,
                                   name + " is set to compute mode 'prohibited'", "no process",
                                   "no program may use it", "sudo nvidia-smi -c DEFAULT"));
  } else if (gpu.compute_mode == ComputeMode::kExclusiveProcess) {
    findings.push_back(MakeFinding(
        Id::kGpuComputeMode, mps ? Severity::kFine : Severity::kWarning,
        name + " is set to compute mode 'exclusive process'", "one process",
        mps ? "" : "the second worker fails: all CUDA-capable devices are busy or unavailable",
        mps ? "" : "sudo nvidia-smi -c DEFAULT, or start MPS: nvidia-cuda-mps-control -d"));
  } else if (gpu.compute_mode) {
    findings.push_back(Fine(Id::kGpuComputeMode, name + " may be used by several processes"));
  }
  if (gpu.mig_enabled == true) {
    findings.push_back(
        MakeFinding(Id::kGpuMig, Severity::kNote, name + " is partitioned (MIG)",
                    "a program can use one instance",
                    "an instance has a part of the memory and of the processors; without an "
                    "instance CUDA finds no device",
                    "nvidia-smi -L lists them; CUDA_VISIBLE_DEVICES=MIG-... chooses one"));
  }
  if (gpu.persistence_mode) {
    findings.push_back(MakeFinding(
        Id::kGpuPersistence, *gpu.persistence_mode ? Severity::kFine : Severity::kNote,
        fmt::format("{}: persistence mode is {}", name, *gpu.persistence_mode ? "on" : "off"), "",
        *gpu.persistence_mode ? "" : "the first program after idle time waits 1 to 3 s for the GPU",
        *gpu.persistence_mode ? "" : "sudo nvidia-smi -pm 1, or nvidia-persistenced"));
  }
}

void DiagnoseLink(const std::string& name, const GpuSettings& gpu, Findings& findings) {
  if (!gpu.link_lanes || !gpu.max_link_lanes) return;
  Finding& finding = findings.emplace_back(
      Fine(Id::kGpuLink, fmt::format("{}: PCIe with {} lanes", name, *gpu.link_lanes)));
  if (gpu.link_generation && gpu.max_link_generation) {
    finding.observed += fmt::format(" of generation {} now (maximum {}; it drops when idle)",
                                    *gpu.link_generation, *gpu.max_link_generation);
  }
  if (*gpu.link_lanes >= *gpu.max_link_lanes) return;
  finding.limit = fmt::format("{} lanes at most", *gpu.max_link_lanes);
  finding.Raise(Severity::kWarning,
                fmt::format("copies between host and GPU take {:.1f} times as long",
                            static_cast<double>(*gpu.max_link_lanes) / *gpu.link_lanes),
                "another slot, no riser; see which devices share lanes in the board's manual");
}

void DiagnoseMemory(const std::string& name, const GpuReading& gpu, bool mps, Findings& findings) {
  std::vector<std::string> holders;
  const auto all = gpu.processes.value_or(std::vector<nvml::GpuProcess>());
  const std::size_t processes = all.size();
  constexpr std::size_t kNamed = 6;
  for (std::size_t i = 0; i < std::min(processes, kNamed); ++i) {
    const nvml::GpuProcess& process = all[i];
    holders.push_back(fmt::format("pid {} {}", process.pid,
                                  process.used ? FormatBytes(*process.used) : "(unknown)"));
  }
  if (processes > kNamed) holders.push_back(fmt::format("and {} more", processes - kNamed));
  if (gpu.total && gpu.used && *gpu.total > 0) {
    Finding& finding = findings.emplace_back(Fine(
        Id::kGpuMemory,
        fmt::format("{}: {} of {} used{}{}", name, FormatBytes(*gpu.used), FormatBytes(*gpu.total),
                    holders.empty() ? "" : ", by ", fmt::join(holders, ", ")),
        FormatBytes(*gpu.total)));
    if (static_cast<double>(*gpu.used) >= kMinFull * static_cast<double>(*gpu.total)) {
      finding.Raise(
          Severity::kWarning,
          "the next program fails with an out-of-memory error; its context alone takes some "
          "hundred MiB",
          "run each by reveza run -- COMMAND: they share the memory by swapping");
    }
  }
  if (!gpu.processes) return;
  Finding& finding = findings.emplace_back(Fine(
      Id::kGpuMps, fmt::format("{}: {} process{} and MPS {}", name, processes,
                               processes == 1 ? "" : "es", mps ? "is running" : "is not running")));
  if (mps) return;
  finding.limit = "one process at a time, in time slices of 1 to 2 ms";
  finding.Raise(
      processes >= 2 ? Severity::kWarning : Severity::kNote,
      "kernels of different processes never run concurrently, and each process has its own "
      "context: several workers with small kernels are no faster than one",
      "bigger batches in one process, threads instead of processes, or MPS: "
      "nvidia-cuda-mps-control -d");
}

void DiagnoseUtilisation(const std::string& name, const nvml::GpuActivityReading& gpu,
                         Findings& findings) {
  if (!gpu.some_resident && !gpu.sm_active) return;
  std::string observed = name + ": ";
  if (gpu.some_resident) {
    observed +=
        fmt::format("a kernel was resident {:.0f} % of the time (the 'utilisation' of nvidia-smi)",
                    100 * *gpu.some_resident);
  }
  observed += gpu.sm_active ? fmt::format("{}its processors were active {:.0f} % of the time",
                                          gpu.some_resident ? "; " : "", 100 * *gpu.sm_active)
                            : "; this GPU does not report how many of its processors were active";
  const bool empty = gpu.sm_active && gpu.some_resident && *gpu.some_resident >= kMinBusy &&
                     *gpu.sm_active < kMaxEmpty;
  Finding finding = MakeFinding(Id::kGpuUtilisation,
                                empty           ? Severity::kWarning
                                : gpu.sm_active ? Severity::kFine
                                                : Severity::kNote,
                                observed);
  finding.confidence = gpu.sm_active ? Confidence::kMeasured : Confidence::kRead;
  if (empty) {
    finding.why = "it seems busy but is mostly empty: small kernels run one by one";
    finding.fix = "bigger batches first; then CUDA graphs, several streams, or processes under MPS";
  }
  findings.push_back(std::move(finding));
}

// Bounds the size of a context by the smallest process.
void DiagnoseContexts(const std::string& name, const GpuReading& gpu, Findings& findings) {
  if (!gpu.processes || gpu.processes->empty()) return;
  std::optional<Bytes> smallest;
  for (const nvml::GpuProcess& process : *gpu.processes) {
    if (process.used && (!smallest || *process.used < *smallest)) smallest = process.used;
  }
  if (!smallest) return;
  findings.push_back(
      Fine(Id::kGpuContexts,
           fmt::format("{}: {} process{} with a context of {} own; the smallest holds {}, an "
                       "upper bound for a context",
                       name, gpu.processes->size(), gpu.processes->size() == 1 ? "" : "es",
                       gpu.processes->size() == 1 ? "its" : "their", FormatBytes(*smallest))));
}

std::string NameOf(const nvml::GpuInventory& all, const nvml::Uuid& uuid) {
  for (const GpuSettings& gpu : all.gpus) {
    if (gpu.uuid == uuid) return fmt::format("GPU {} ({})", gpu.index, gpu.name);
  }
  return nvml::FormatUuid(uuid);
}

constexpr int kWindow = 400;  // ms

// Returns the CPU time of the driver's threads "UVM GPU<n> BH"; nullopt if none is visible.
std::optional<std::uint64_t> FaultTicks(const std::filesystem::path& root) {
  platform::ProcessReader reader(root);
  std::optional<std::uint64_t> ticks;
  for (const pid_t pid : reader.List()) {
    const auto stat = reader.Stat(pid);
    if (!stat || !stat->name.starts_with("UVM GPU")) continue;
    ticks = ticks.value_or(0) + stat->user_ticks + stat->system_ticks;
  }
  return ticks;
}

Finding NoDriver(const std::string& message, bool installed) {
  return {.id = Id::kGpuDriver,
          .severity = installed ? Severity::kFatal : Severity::kNote,
          .observed = installed ? fmt::format("the NVIDIA driver is installed, but {}", message)
                                : std::string("no NVIDIA driver found"),
          .why = installed ? "CUDA programs find no device, or fail when they start"
                           : "GPUs cannot be checked",
          .fix = installed
                     ? "reboot after an update of the driver; in containers start with --gpus all"
                     : "on a machine with a GPU: install its driver"};
}

// Returns the processes with managed memory, among those of the subject and of the driver's list,
// as far as they are readable.
std::vector<ManagedMemory> ManagedOf(const Subject& subject,
                                     const std::vector<nvml::GpuReading>& readings) {
  std::map<pid_t, ManagedMemory> found;
  for (const ProcessView& process : Processes(subject)) {
    if (process.maps && process.maps->uvm > 0) {
      found[process.pid] = {DisplayName(process), process.maps->uvm_bytes};
    }
  }
  for (const nvml::GpuReading& gpu : readings) {
    if (!gpu.processes) continue;
    for (const nvml::GpuProcess& process : *gpu.processes) {
      if (found.contains(process.pid)) continue;
      const auto maps = platform::ReadProcessMaps(process.pid, subject.root);
      if (!maps || maps->uvm == 0) continue;
      found[process.pid] = {fmt::format("pid {}", process.pid), maps->uvm_bytes};
    }
  }
  std::vector<ManagedMemory> managed;
  for (auto& [pid, one] : found) managed.push_back(std::move(one));
  return managed;
}

constexpr double kMaxFaultCpus = 0.1;
constexpr double kMaxTraffic = 1e9;  // bytes/s in each direction
// CUDA itself maps some managed memory in every program; less than this is not the program's.
constexpr Bytes kMinManaged = 256 * kMiB;

Bytes LargestGpu(const GpuState& seen) {
  Bytes largest = 0;
  for (const auto& gpu : seen.readings) largest = std::max(largest, gpu.total.value_or(0));
  return largest;
}

const ManagedMemory* LargestManaged(const GpuState& seen) {
  const auto found = std::ranges::max_element(seen.managed, {}, &ManagedMemory::mapped);
  return found != seen.managed.end() && found->mapped >= kMinManaged ? &*found : nullptr;
}

// Returns the traffic in both directions of a full GPU, in bytes/s, if it is high.
std::optional<double> ThrashingTraffic(const GpuState& seen) {
  for (const auto& gpu : seen.readings) {
    if (!gpu.total || !gpu.used || *gpu.total == 0) continue;
    if (static_cast<double>(*gpu.used) < kMinFull * static_cast<double>(*gpu.total)) continue;
    const auto activity =
        std::ranges::find(seen.activities, gpu.uuid, &nvml::GpuActivityReading::uuid);
    if (activity == seen.activities.end() || !activity->link_in || !activity->link_out) continue;
    const double both = std::min(*activity->link_in, *activity->link_out);
    if (both >= kMaxTraffic) return both;
  }
  return std::nullopt;
}

std::string ThreadsText(const GpuState& seen) {
  if (!seen.fault_cpus) {
    return "the driver's GPU page-fault threads are not visible from here";
  }
  return fmt::format("the driver's GPU page-fault threads use {:.0f} % of a CPU",
                     100 * *seen.fault_cpus);
}

}  // namespace

Findings DiagnosePageFaults(const GpuState& seen) {
  if (seen.inventory.gpus.empty()) return {};
  Finding finding{.id = Id::kUvmFaults, .observed = ThreadsText(seen)};
  const ManagedMemory* const largest = LargestManaged(seen);
  if (largest != nullptr) {
    finding.observed +=
        fmt::format("; {} has {} of managed memory", largest->name, FormatBytes(largest->mapped));
  }
  const Bytes card = LargestGpu(seen);
  const auto traffic = ThrashingTraffic(seen);
  if (seen.fault_cpus && *seen.fault_cpus >= kMaxFaultCpus) {
    finding.severity = Severity::kWarning;
    finding.confidence = Confidence::kMeasured;
    finding.limit = "10 % of a CPU";
  } else if (!seen.fault_cpus && largest != nullptr && traffic) {
    finding.severity = Severity::kWarning;
    finding.confidence = Confidence::kLikely;
    finding.observed +=
        fmt::format("; its GPU is full, and the link carries {}/s in each direction",
                    FormatBytes(static_cast<Bytes>(*traffic)));
    finding.limit = "1 GB/s in each direction on a full GPU";
  } else if (largest != nullptr && card > 0 && largest->mapped > card) {
    finding.severity = Severity::kWarning;
    finding.confidence = Confidence::kLikely;
    finding.limit = fmt::format("{}: the largest GPU", FormatBytes(card));
  } else if (!seen.fault_cpus) {
    finding.severity = Severity::kNote;
  }
  if (finding.severity == Severity::kWarning) {
    finding.why = "managed memory migrates page by page, up to a hundred times slower than a copy";
    finding.fix =
        "cudaMemPrefetchAsync and cudaMemAdvise, or fit into the GPU's memory: a smaller batch, or "
        "fewer programs at once (reveza run -- COMMAND swaps whole programs instead of pages)";
  } else if (finding.severity == Severity::kNote) {
    finding.why = "whether managed memory is thrashing is unknown";
    finding.fix = "run the doctor outside the container";
  }
  return {finding};
}

Findings DiagnoseGpus(const GpuState& seen) {
  Findings findings;
  const nvml::GpuInventory& all = seen.inventory;
  findings.push_back(Fine(
      Id::kGpuDriver,
      fmt::format("driver {}, {}, {} GPU{}", all.driver.value_or("of unknown version"),
                  all.cuda
                      ? fmt::format("CUDA up to {}.{}", *all.cuda / 1000, *all.cuda % 1000 / 10)
                      : std::string("CUDA of unknown version"),
                  all.gpus.size(), all.gpus.size() == 1 ? "" : "s")));
  for (const unsigned index : all.unresponsive) {
    findings.push_back(MakeFinding(
        Id::kGpuDriver, Severity::kFatal, fmt::format("GPU {} is unresponsive", index), "",
        "programs that choose it fail; on some machines every CUDA program fails at start",
        "see dmesg | grep Xid for the cause; hide it with CUDA_VISIBLE_DEVICES until it is reset "
        "or the machine is rebooted"));
  }
  for (const GpuSettings& gpu : all.gpus) {
    const std::string name = NameOf(all, gpu.uuid);
    DiagnoseSettings(name, gpu, seen.mps, findings);
    DiagnoseLink(name, gpu, findings);
  }
  for (const GpuReading& gpu : seen.readings) {
    DiagnoseMemory(NameOf(all, gpu.uuid), gpu, seen.mps, findings);
    DiagnoseContexts(NameOf(all, gpu.uuid), gpu, findings);
  }
  for (const auto& gpu : seen.activities) DiagnoseUtilisation(NameOf(all, gpu.uuid), gpu, findings);
  std::ranges::move(DiagnosePageFaults(seen), std::back_inserter(findings));
  for (const auto& [a, b] : all.no_peer_access) {
    findings.push_back(MakeFinding(
        Id::kGpuPeers, Severity::kNote,
        fmt::format("GPU {} and GPU {} cannot read each other's memory", all.gpus[a].index,
                    all.gpus[b].index),
        "", "copies between them go through host memory",
        "nvidia-smi topo -p2p r shows which pairs can; IOMMU and ACS settings often prevent it"));
  }
  return findings;
}

bool IsMpsRunning(const std::filesystem::path& root) {
  std::error_code error;
  if (std::filesystem::exists(root / "tmp/nvidia-mps/control", error)) return true;
  for (std::filesystem::directory_iterator entry(root / "proc", error), end; !error && entry != end;
       entry.increment(error)) {
    // The kernel truncates names to 15 characters.
    const auto name = platform::ReadText(entry->path() / "comm");
    if (name && name->starts_with("nvidia-cuda-mps")) return true;
  }
  return false;
}

Findings CheckGpus(const Subject& subject) {
  const char* library = subject.nvml.c_str();
  auto inventory = nvml::ReadGpuSettings(library);
  if (!inventory) return {NoDriver(inventory.error().message, HasNvidiaDriver(subject.root))};
  GpuState seen;
  seen.inventory = std::move(*inventory);
  if (auto monitor = nvml::LoadNvml(library)) {
    seen.readings = (*monitor)->Read().value_or(std::vector<nvml::GpuReading>());
  }
  const auto faults = FaultTicks(subject.root);
  auto activity = nvml::LoadGpuActivity(library);
  if (activity) (*activity)->Read();
  poll(nullptr, 0, kWindow);
  if (activity) seen.activities = (*activity)->Read();
  if (const auto later = FaultTicks(subject.root); faults && later) {
    const auto ticks = static_cast<double>(*later > *faults ? *later - *faults : 0);
    seen.fault_cpus = ticks / static_cast<double>(platform::TicksPerSecond()) / (kWindow / 1000.0);
  }
  seen.mps = IsMpsRunning(subject.root);
  seen.managed = ManagedOf(subject, seen.readings);
  return DiagnoseGpus(seen);
}

}  // namespace reveza::doctor
