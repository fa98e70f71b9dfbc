#include "doctor/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <system_error>

#include "base/units.h"
#include "platform/text_file.h"

namespace reveza::doctor {
namespace {

using platform::ComputeMode;
using platform::GpuReading;
using platform::GpuSettings;

constexpr double kFull = 0.95;
constexpr double kLooksBusy = 0.8;
constexpr double kMostlyEmpty = 0.3;

Finding Make(Id id, Severity severity, std::string observed, std::string limit = "",
             std::string why = "", std::string fix = "") {
  return {.id = id,
          .severity = severity,
          .sure = Sureness::kRead,
          .observed = std::move(observed),
          .limit = std::move(limit),
          .why = std::move(why),
          .fix = std::move(fix)};
}

void JudgeSettings(const std::string& name, const GpuSettings& gpu, bool mps, Findings& findings) {
  if (gpu.compute_mode == ComputeMode::kProhibited) {
    findings.push_back(Make(Id::kGpuComputeMode, Severity::kFatal,
                            name + " is set to compute mode 'prohibited'", "no process",
                            "no program may use it", "sudo nvidia-smi -c DEFAULT"));
  } else if (gpu.compute_mode == ComputeMode::kExclusiveProcess) {
    findings.push_back(
        Make(Id::kGpuComputeMode, mps ? Severity::kFine : Severity::kWarning,
             name + " is set to compute mode 'exclusive process'", "one process",
             mps ? "" : "the second worker fails: all CUDA-capable devices are busy or unavailable",
             mps ? "" : "sudo nvidia-smi -c DEFAULT, or start MPS: nvidia-cuda-mps-control -d"));
  } else if (gpu.compute_mode) {
    findings.push_back(
        Make(Id::kGpuComputeMode, Severity::kFine, name + " may be used by several processes"));
  }
  if (gpu.divided == true) {
    findings.push_back(Make(Id::kGpuMig, Severity::kNote, name + " is divided (MIG)",
                            "a program has one instance",
                            "an instance has its own part of memory and of the processors; without "
                            "one CUDA finds no device",
                            "nvidia-smi -L lists them; CUDA_VISIBLE_DEVICES=MIG-... chooses one"));
  }
  if (gpu.persistent) {
    findings.push_back(
        Make(Id::kGpuPersistence, *gpu.persistent ? Severity::kFine : Severity::kNote,
             fmt::format("{}: persistence mode is {}", name, *gpu.persistent ? "on" : "off"), "",
             *gpu.persistent ? "" : "the first program after a pause waits 1 to 3 s for the GPU",
             *gpu.persistent ? "" : "sudo nvidia-smi -pm 1, or nvidia-persistenced"));
  }
}

void JudgeLink(const std::string& name, const GpuSettings& gpu, Findings& findings) {
  if (!gpu.link_lanes || !gpu.best_link_lanes) return;
  const bool narrow = *gpu.link_lanes < *gpu.best_link_lanes;
  std::string observed = fmt::format("{}: PCIe with {} lanes", name, *gpu.link_lanes);
  if (gpu.link_generation && gpu.best_link_generation) {
    observed += fmt::format(" of generation {} now ({} at best; it falls when idle)",
                            *gpu.link_generation, *gpu.best_link_generation);
  }
  findings.push_back(Make(
      Id::kGpuLink, narrow ? Severity::kWarning : Severity::kFine, observed,
      narrow ? fmt::format("{} lanes at best", *gpu.best_link_lanes) : "",
      narrow ? fmt::format("copies between host and GPU take {:.1f} times as long",
                           static_cast<double>(*gpu.best_link_lanes) / *gpu.link_lanes)
             : "",
      narrow ? "another slot, no riser; see which devices share lanes in the board's manual" : ""));
}

void JudgeMemory(const std::string& name, const GpuReading& gpu, bool mps, Findings& findings) {
  std::vector<std::string> holders;
  const auto all = gpu.processes.value_or(std::vector<platform::GpuProcess>());
  const std::size_t processes = all.size();
  constexpr std::size_t kNamed = 6;
  for (std::size_t i = 0; i < std::min(processes, kNamed); ++i) {
    const platform::GpuProcess& process = all[i];
    holders.push_back(fmt::format("pid {} {}", process.pid,
                                  process.used ? FormatBytes(*process.used) : "(not said)"));
  }
  if (processes > kNamed) holders.push_back(fmt::format("and {} more", processes - kNamed));
  if (gpu.total && gpu.used && *gpu.total > 0) {
    const bool full = static_cast<double>(*gpu.used) >= kFull * static_cast<double>(*gpu.total);
    findings.push_back(Make(
        Id::kGpuMemory, full ? Severity::kWarning : Severity::kFine,
        fmt::format("{}: {} of {} used{}{}", name, FormatBytes(*gpu.used), FormatBytes(*gpu.total),
                    holders.empty() ? "" : ", by ", fmt::join(holders, ", ")),
        FormatBytes(*gpu.total),
        full ? "the next program fails with an out-of-memory error; its context alone takes "
               "some hundred MiB"
             : "",
        full ? "reveza run -- COMMAND for each: they take turns instead" : ""));
  }
  if (!gpu.processes) return;
  const bool slices = processes >= 2 && !mps;
  findings.push_back(Make(
      Id::kGpuMps,
      slices ? Severity::kWarning
      : mps  ? Severity::kFine
             : Severity::kNote,
      fmt::format("{}: {} process{} and MPS {}", name, processes, processes == 1 ? "" : "es",
                  mps ? "runs" : "does not run"),
      mps ? "" : "one process at a time, in slices of 1 to 2 ms",
      mps ? ""
          : "kernels of different processes never run at the same time, and each process has a "
            "context of its own: workers with small kernels are no faster than one",
      mps ? ""
          : "bigger batches in one process, threads instead of processes, or MPS: "
            "nvidia-cuda-mps-control -d"));
}

void JudgeUse(const std::string& name, const platform::GpuActivityReading& gpu,
              Findings& findings) {
  if (!gpu.some_resident && !gpu.sm_active) return;
  std::string observed = name + ": ";
  if (gpu.some_resident) {
    observed += fmt::format(
        "some kernel was resident in {:.0f} % of the time (which is what "
        "'utilisation' says)",
        100 * *gpu.some_resident);
  }
  observed += gpu.sm_active ? fmt::format("{}its processors worked in {:.0f} % of it",
                                          gpu.some_resident ? "; " : "", 100 * *gpu.sm_active)
                            : "; how many of its processors worked this GPU cannot say";
  const bool empty = gpu.sm_active && gpu.some_resident && *gpu.some_resident >= kLooksBusy &&
                     *gpu.sm_active < kMostlyEmpty;
  Finding finding = Make(Id::kGpuUtilisation,
                         empty           ? Severity::kWarning
                         : gpu.sm_active ? Severity::kFine
                                         : Severity::kNote,
                         observed);
  finding.sure = gpu.sm_active ? Sureness::kMeasured : Sureness::kRead;
  if (empty) {
    finding.why = "it looks busy and is mostly empty: the kernels are small, one after the other";
    finding.fix = "bigger batches first; then CUDA graphs, several streams, or processes under MPS";
  }
  findings.push_back(std::move(finding));
}

// What each process pays before it allocates, as far as it shows from outside.
void JudgeContexts(const std::string& name, const GpuReading& gpu, Findings& findings) {
  if (!gpu.processes || gpu.processes->empty()) return;
  std::optional<Bytes> least;
  for (const platform::GpuProcess& process : *gpu.processes) {
    if (process.used && (!least || *process.used < *least)) least = process.used;
  }
  if (!least) return;
  findings.push_back(Make(
      Id::kGpuContexts, Severity::kFine,
      fmt::format("{}: {} process{} with a context of {} own; the smallest holds {} in all, so "
                  "a context is no more than that",
                  name, gpu.processes->size(), gpu.processes->size() == 1 ? "" : "es",
                  gpu.processes->size() == 1 ? "its" : "their", FormatBytes(*least)),
      "", "", ""));
}

std::string NameOf(const platform::GpusSetUp& all, const platform::Uuid& uuid) {
  for (const GpuSettings& gpu : all.gpus) {
    if (gpu.uuid == uuid) return fmt::format("GPU {} ({})", gpu.index, gpu.name);
  }
  return platform::FormatUuid(uuid);
}

}  // namespace

Findings JudgeGpus(const GpusSeen& seen) {
  Findings findings;
  const platform::GpusSetUp& all = seen.set_up;
  findings.push_back(Make(
      Id::kGpuDriver, Severity::kFine,
      fmt::format("driver {}, {}, {} GPU{}", all.driver.value_or("of unknown version"),
                  all.cuda
                      ? fmt::format("CUDA up to {}.{}", *all.cuda / 1000, *all.cuda % 1000 / 10)
                      : std::string("CUDA of unknown version"),
                  all.gpus.size(), all.gpus.size() == 1 ? "" : "s")));
  for (const unsigned index : all.silent) {
    findings.push_back(Make(Id::kGpuDriver, Severity::kFatal,
                            fmt::format("GPU {} does not answer", index), "",
                            "who chooses it fails, and on some machines so does every CUDA program "
                            "when it starts",
                            "dmesg | grep Xid says what became of it; hide it with "
                            "CUDA_VISIBLE_DEVICES until it is reset or the machine is restarted"));
  }
  for (const GpuSettings& gpu : all.gpus) {
    const std::string name = NameOf(all, gpu.uuid);
    JudgeSettings(name, gpu, seen.mps, findings);
    JudgeLink(name, gpu, findings);
  }
  for (const GpuReading& gpu : seen.readings) {
    JudgeMemory(NameOf(all, gpu.uuid), gpu, seen.mps, findings);
    JudgeContexts(NameOf(all, gpu.uuid), gpu, findings);
  }
  for (const auto& gpu : seen.activities) JudgeUse(NameOf(all, gpu.uuid), gpu, findings);
  std::ranges::move(JudgeFaults(seen), std::back_inserter(findings));
  for (const auto& [a, b] : all.strangers) {
    findings.push_back(Make(Id::kGpuPeers, Severity::kNote,
                            fmt::format("GPU {} and GPU {} cannot read each other's memory",
                                        all.gpus[a].index, all.gpus[b].index),
                            "", "copies between them go through the host's memory",
                            "nvidia-smi topo -p2p r shows which pairs can; IOMMU and ACS settings "
                            "often forbid it"));
  }
  return findings;
}

bool MpsRuns(const std::filesystem::path& root) {
  std::error_code error;
  if (std::filesystem::exists(root / "tmp/nvidia-mps/control", error)) return true;
  for (std::filesystem::directory_iterator entry(root / "proc", error), end; !error && entry != end;
       entry.increment(error)) {
    // The kernel keeps 15 letters of a name.
    const auto name = platform::ReadText(entry->path() / "comm");
    if (name && name->starts_with("nvidia-cuda-mps")) return true;
  }
  return false;
}

}  // namespace reveza::doctor
