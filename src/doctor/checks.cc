#include "doctor/checks.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace reveza::doctor {
namespace {

using std::chrono::seconds;

constexpr std::array kChecks = {
    Check{"what may be seen", seconds(10), CheckVisible},
    Check{"address space", seconds(10), CheckAddressSpace},
    Check{"mappings", seconds(10), CheckMapCount},
    Check{"limits of the process", seconds(10), CheckProcessLimits},
    Check{"threads of the machine", seconds(10), CheckThreadCeiling},
    Check{"memory of the machine", seconds(10), CheckMemory},
    Check{"huge pages", seconds(10), CheckHugePages},
    Check{"control groups", seconds(10), CheckCgroups},
    Check{"pressure", seconds(10), CheckPressure},
    Check{"threads at once", seconds(60), CheckThreads},
    Check{"whole cores", seconds(20), CheckCores},
    Check{"OpenMP and BLAS", seconds(10), CheckRuntimes},
    Check{"variables for threads", seconds(10), CheckThreadVariables},
    Check{"what threads do", seconds(30), CheckActivity},
    Check{"variables for CUDA", seconds(10), CheckCudaEnvironment},
    Check{"runtimes of CUDA", seconds(20), CheckCudaRuntime},
    Check{"GPUs", seconds(20), CheckGpus},
    // Last: only when they are asked for.
    Check{"contexts on the GPUs", seconds(60), CheckGpuContexts},
    Check{"turns on the GPUs", seconds(30), CheckGpuTurns},
};

constexpr std::size_t kProbes = 2;

}  // namespace

std::span<const Check> AllChecks(bool gpu_probe) {
  return std::span(kChecks).first(kChecks.size() - (gpu_probe ? 0 : kProbes));
}

Findings RunAll(std::span<const Check> checks, const Subject& subject) {
  Findings all;
  for (const Check& check : checks) {
    auto found = RunIsolated(check.name, check.limit, [&] { return check.run(subject); });
    std::ranges::move(found, std::back_inserter(all));
  }
  return all;
}

}  // namespace reveza::doctor
