#include "doctor/checks.h"

#include <array>

namespace reveza::doctor {
namespace {

using std::chrono::seconds;

constexpr std::array kChecks = {
    Check{"address space", seconds(10), CheckAddressSpace},
    Check{"mappings", seconds(10), CheckMapCount},
    Check{"limits of the process", seconds(10), CheckProcessLimits},
    Check{"threads of the machine", seconds(10), CheckThreadCeiling},
    Check{"memory of the machine", seconds(10), CheckMemory},
    Check{"control groups", seconds(10), CheckCgroups},
    Check{"pressure", seconds(10), CheckPressure},
    Check{"threads at once", seconds(60), CheckThreads},
    Check{"whole cores", seconds(20), CheckCores},
    Check{"OpenMP and BLAS", seconds(10), CheckRuntimes},
    Check{"variables for threads", seconds(10), CheckThreadVariables},
    Check{"what threads do", seconds(30), CheckActivity},
    Check{"variables for CUDA", seconds(10), CheckCudaEnvironment},
    Check{"GPUs", seconds(20), CheckGpus},
};

}  // namespace

std::span<const Check> AllChecks() { return kChecks; }

}  // namespace reveza::doctor
