// A context of our own on each GPU, for who asks for it.
#include <algorithm>

#include "base/units.h"
#include "doctor/checks.h"
#include "doctor/gpu_contexts.h"
#include "platform/gpu_monitor.h"

namespace reveza::doctor {
namespace {

// Two contexts with room to spare.
constexpr Bytes kNeeded = 2 * kGiB;

Finding NotTried(const std::string& why) {
  return {.id = Id::kGpuContexts,
          .severity = Severity::kNote,
          .sure = Sureness::kRead,
          .observed = "what a context takes was not measured: " + why,
          .limit = "",
          .why = "",
          .fix = ""};
}

}  // namespace

Findings CheckGpuContexts(const Subject& subject) {
  std::vector<std::optional<std::size_t>> processes;
  if (auto monitor = platform::LoadNvml(subject.nvml.c_str())) {
    const auto gpus = (*monitor)->Read();
    if (!gpus) return {NotTried("it cannot be read how much of its memory is free")};
    for (const platform::GpuReading& gpu : *gpus) {
      if (gpu.total && gpu.used && *gpu.total - std::min(*gpu.used, *gpu.total) < kNeeded) {
        return {NotTried("less than " + FormatBytes(kNeeded) + " of its memory is free")};
      }
      processes.push_back(gpu.processes ? std::optional(gpu.processes->size()) : std::nullopt);
    }
  }
  const auto contexts = MeasureContexts(subject.cuda.c_str());
  if (!contexts) return {NotTried(contexts.error().message)};
  return JudgeContexts(*contexts, processes);
}

}  // namespace reveza::doctor
