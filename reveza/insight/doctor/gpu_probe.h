// Probes the GPUs with a context, only with --gpu-probe, because it takes some hundred MiB and
// competes with other programs:
//   - the memory of a context before its process allocates anything, as the free memory lost while
//     another process creates one;
//   - time slicing: a kernel of one thread polls the GPU's clock for some milliseconds and adds up
//   the
//     gaps in which other processes ran.
// Pure functions of values, except Measure...(), which need a process of their own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "reveza/insight/doctor/finding.h"

namespace reveza::doctor {

struct ContextCost {
  std::string gpu;
  Bytes total = 0;             // memory of the GPU
  std::optional<Bytes> taken;  // nullopt: other processes changed the free memory
};

// Measures each GPU in CUDA's order with the driver `library`. kUnavailable names the call that
// failed.
Result<std::vector<ContextCost>> MeasureContexts(const char* library);

// `processes` is the number of processes with a context on each GPU, if known.
Findings DiagnoseContexts(const std::vector<ContextCost>& gpus,
                          const std::vector<std::optional<std::size_t>>& processes);

struct TimeSlicing {
  std::string gpu;
  std::chrono::nanoseconds watched{0};
  std::chrono::nanoseconds preempted{0};  // of it
  std::uint64_t preemptions = 0;
};

// Likewise.
Result<std::vector<TimeSlicing>> MeasureTimeSlicing(const char* library,
                                                    std::chrono::milliseconds watch);

// With `mps`, programs run concurrently and are not preempted.
Findings DiagnoseTimeSlicing(const std::vector<TimeSlicing>& gpus, bool mps);

}  // namespace reveza::doctor
