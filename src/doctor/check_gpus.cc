// The GPUs as NVML and the kernel show them.
#include <fmt/format.h>
#include <poll.h>

#include <string_view>

#include "doctor/checks.h"
#include "doctor/gpus.h"
#include "platform/process_table.h"
#include "platform/text_file.h"

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

// A program that was built with a newer CUDA than the driver knows.
void CompareRuntimes(const Subject& subject, const platform::GpusSetUp& all, Findings& findings) {
  if (!all.cuda) return;
  constexpr std::string_view kPrefix = "libcudart.so.";
  for (const ProcessView& process : Processes(subject)) {
    if (!process.maps) continue;
    const auto library = platform::FindLibrary(*process.maps, kPrefix);
    if (!library) continue;
    const auto name = library->find(kPrefix);
    const auto major = platform::ToNumber(std::string_view(*library).substr(name + kPrefix.size()));
    if (!major || *major <= *all.cuda / 1000) continue;
    findings.push_back({.id = Id::kGpuDriver,
                        .severity = Severity::kFatal,
                        .sure = Sureness::kRead,
                        .observed = fmt::format("{} uses CUDA {}", Called(process), *major),
                        .limit = fmt::format("the driver knows CUDA up to {}.{}", *all.cuda / 1000,
                                             *all.cuda % 1000 / 10),
                        .why = "it fails with 'CUDA driver version is insufficient for CUDA "
                               "runtime version'",
                        .fix = "a newer driver, or the program built for an older CUDA"});
  }
}

}  // namespace

Findings CheckGpus(const Subject& subject) {
  const char* library = subject.nvml.c_str();
  auto set_up = platform::ReadGpuSettings(library);
  if (!set_up) return {NoDriver(set_up.error().message, HasNvidiaDriver(subject.root))};
  GpusSeen seen;
  seen.set_up = std::move(*set_up);
  if (auto monitor = platform::LoadNvml(library)) seen.readings = (*monitor)->Read();
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
  Findings findings = JudgeGpus(seen);
  CompareRuntimes(subject, seen.set_up, findings);
  return findings;
}

}  // namespace reveza::doctor
