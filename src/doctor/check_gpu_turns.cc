// A kernel of our own on each GPU, for who asks for it.
#include <algorithm>

#include "base/units.h"
#include "doctor/checks.h"
#include "doctor/gpu_turns.h"
#include "doctor/gpus.h"
#include "platform/gpu_monitor.h"

namespace reveza::doctor {
namespace {

// A context takes half of it and more.
constexpr Bytes kNeeded = Bytes{1} << 30;
constexpr std::chrono::milliseconds kWatch{50};

Finding NotTried(std::string why) {
  return {.id = Id::kGpuTurns,
          .severity = Severity::kNote,
          .sure = Sureness::kRead,
          .observed = "no kernel was tried on the GPU: " + std::move(why),
          .limit = "",
          .why = "",
          .fix = ""};
}

}  // namespace

Findings CheckGpuTurns(const Subject& subject) {
  if (auto monitor = platform::LoadNvml(subject.nvml.c_str())) {
    const auto gpus = (*monitor)->Read();
    if (!gpus) return {NotTried("it cannot be read how much of its memory is free")};
    for (const platform::GpuReading& gpu : *gpus) {
      if (gpu.total && gpu.used && *gpu.total - std::min(*gpu.used, *gpu.total) < kNeeded) {
        return {NotTried("less than " + FormatBytes(kNeeded) + " of its memory is free")};
      }
    }
  }
  const auto turns = MeasureTurns(subject.cuda.c_str(), kWatch);
  if (!turns) return {NotTried(turns.error().message)};
  return JudgeTurns(*turns, MpsRuns(subject.root));
}

}  // namespace reveza::doctor
