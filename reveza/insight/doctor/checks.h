// The checks, each a function of the subject. Each runs in a process of its own, so that a crash or
// hang affects nothing else: it may take time and start processes, but changes nothing. Not
// thread-safe: forks, so the calling process should be single-threaded.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reveza/insight/doctor/subject.h"

namespace reveza::doctor {

struct Check {
  const char* name;
  std::chrono::seconds limit;
  Findings (*run)(const Subject& subject);
};

// Returns all checks, the most frequent causes first. `gpu_probe` adds those that create contexts
// and run a kernel on the GPUs.
std::span<const Check> AllChecks(bool gpu_probe = false);

// Returns the findings of `check`, or one kCheckFailed finding if it crashes, exits or exceeds
// `limit`. Kills all processes of its process group afterwards.
Findings RunIsolated(const std::string& name, std::chrono::milliseconds limit,
                     const std::function<Findings()>& check);

// Runs the checks in order and returns their findings. A check that crashes or hangs becomes a
// finding; the others still run.
Findings RunAll(std::span<const Check> checks, const Subject& subject);

// Reports what this user may not read, so that it is not mistaken for fine.
Findings CheckVisible(const Subject& subject);

// The parts of a process that this user may not read.
struct Hidden {
  pid_t pid = 0;
  std::string name;
  std::optional<uid_t> owner;
  std::vector<std::string> parts;  // empty: everything is readable
};

// A pure function.
Findings DiagnoseHidden(const std::vector<Hidden>& processes);

// Resource limits of the processes and of the kernel, compared with the usage.
Findings CheckAddressSpace(const Subject& subject);
Findings CheckMapCount(const Subject& subject);
Findings CheckProcessLimits(const Subject& subject);
Findings CheckThreadCeiling(const Subject& subject);
Findings CheckMemory(const Subject& subject);
Findings CheckHugePages(const Subject& subject);

// Control groups, and pressure on CPU, memory and storage.
Findings CheckCgroups(const Subject& subject);
Findings CheckPressure(const Subject& subject);

// Whether two CPUs together do twice the work of one.
struct CoresMeasured {
  double both = 0;        // throughput of two threads / of one
  double cpu_part = 0;    // share of the time in which the two threads were running
  bool siblings = false;  // the two CPUs are hardware threads of one core
};

// Takes one second. nullopt if fewer than two CPUs are available.
std::optional<CoresMeasured> MeasureCores();

Finding DiagnoseCores(const CoresMeasured& measured);

// Threads: how many can exist, the speed of two CPUs, thread pools of libraries, activity.
Findings CheckThreads(const Subject& subject);
Findings CheckCores(const Subject& subject);
Findings CheckRuntimes(const Subject& subject);
Findings CheckThreadVariables(const Subject& subject);
Findings CheckActivity(const Subject& subject);

// CUDA: environment variables, runtimes and the GPUs.
Findings CheckCudaEnvironment(const Subject& subject);
Findings CheckCudaRuntime(const Subject& subject);
Findings CheckGpus(const Subject& subject);
Findings CheckGpuContexts(const Subject& subject);
Findings CheckGpuTurns(const Subject& subject);

}  // namespace reveza::doctor
