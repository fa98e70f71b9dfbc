// The GPUs as NVML and the kernel show them.
#include <fmt/format.h>
#include <poll.h>

#include <map>

#include "doctor/checks.h"
#include "doctor/gpus.h"
#include "platform/process_maps.h"
#include "platform/process_table.h"

namespace reveza::doctor {
namespace {

constexpr int kWindow = 400;  // ms

// CPU time so far of the driver's threads "UVM GPU1 BH"; nothing where none can be seen.
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

Finding NoDriver(const std::string& message, bool there) {
  return {.id = Id::kGpuDriver,
          .severity = there ? Severity::kFatal : Severity::kNote,
          .sure = Sureness::kRead,
          .observed = there ? fmt::format("NVIDIA's driver is here, but {}", message)
                            : std::string("there is no driver of NVIDIA here"),
          .limit = "",
          .why = there ? "CUDA programs find no device, or fail when they start"
                       : "nothing can be said about GPUs",
          .fix = there ? "reboot after an update of the driver; in containers start with --gpus all"
                       : "on a machine with a GPU: install its driver"};
}

// Who has mapped managed memory, among the subject and those that the driver names, as far as this
// user may look.
std::vector<Managed> ManagedOf(const Subject& subject,
                               const std::vector<platform::GpuReading>& readings) {
  std::map<pid_t, Managed> found;
  for (const ProcessView& process : Processes(subject)) {
    if (process.maps && process.maps->uvm > 0) {
      found[process.pid] = {Called(process), process.maps->uvm_bytes};
    }
  }
  for (const platform::GpuReading& gpu : readings) {
    if (!gpu.processes) continue;
    for (const platform::GpuProcess& process : *gpu.processes) {
      if (found.contains(process.pid)) continue;
      const auto maps = platform::ReadProcessMaps(process.pid, subject.root);
      if (!maps || maps->uvm == 0) continue;
      found[process.pid] = {fmt::format("pid {}", process.pid), maps->uvm_bytes};
    }
  }
  std::vector<Managed> managed;
  for (auto& [pid, one] : found) managed.push_back(std::move(one));
  return managed;
}

}  // namespace

Findings CheckGpus(const Subject& subject) {
  const char* library = subject.nvml.c_str();
  auto set_up = platform::ReadGpuSettings(library);
  if (!set_up) return {NoDriver(set_up.error().message, HasNvidiaDriver(subject.root))};
  GpusSeen seen;
  seen.set_up = std::move(*set_up);
  if (auto monitor = platform::LoadNvml(library)) {
    seen.readings = (*monitor)->Read().value_or(std::vector<platform::GpuReading>());
  }
  const auto faults = FaultTicks(subject.root);
  auto activity = platform::LoadGpuActivity(library);
  if (activity) (*activity)->Read();
  poll(nullptr, 0, kWindow);
  if (activity) seen.activities = (*activity)->Read();
  if (const auto later = FaultTicks(subject.root); faults && later) {
    const auto ticks = static_cast<double>(*later > *faults ? *later - *faults : 0);
    seen.fault_cpus = ticks / static_cast<double>(platform::TicksPerSecond()) / (kWindow / 1000.0);
  }
  seen.mps = MpsRuns(subject.root);
  seen.managed = ManagedOf(subject, seen.readings);
  return JudgeGpus(seen);
}

}  // namespace reveza::doctor
