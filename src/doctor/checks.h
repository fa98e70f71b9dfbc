// The checks, each a function of what it looks at. Each is run in a process of its own
// (isolate.h): it may take its time and start processes, and it changes nothing.
// Thread-safety: as isolate.h says.
#pragma once

#include <chrono>
#include <span>

#include "doctor/isolate.h"
#include "doctor/subject.h"

namespace reveza::doctor {

struct Check {
  const char* name;
  std::chrono::seconds limit;
  Findings (*run)(const Subject& subject);
};

// All of them, in the order of what most often is the reason. With `gpu_probe` also those that make
// contexts on the GPUs and start a kernel there.
std::span<const Check> AllChecks(bool gpu_probe = false);

// What they find, one after the other. One that crashes or hangs is a finding; the others run.
Findings RunAll(std::span<const Check> checks, const Subject& subject);

// Whether this user may look at the processes at all: what is hidden is said, not taken for fine.
Findings CheckVisible(const Subject& subject);

// Resource limits of the processes against what they use, and what the kernel allows to all.
Findings CheckAddressSpace(const Subject& subject);
Findings CheckMapCount(const Subject& subject);
Findings CheckProcessLimits(const Subject& subject);
Findings CheckThreadCeiling(const Subject& subject);
Findings CheckMemory(const Subject& subject);
Findings CheckHugePages(const Subject& subject);

// Control groups, and who waits for CPU, memory or storage.
Findings CheckCgroups(const Subject& subject);
Findings CheckPressure(const Subject& subject);

// Threads: how many can exist, how much two CPUs do, which libraries start them, what they do.
Findings CheckThreads(const Subject& subject);
Findings CheckCores(const Subject& subject);
Findings CheckRuntimes(const Subject& subject);
Findings CheckThreadVariables(const Subject& subject);
Findings CheckActivity(const Subject& subject);

// CUDA: what the environment asks of it, and the GPUs.
Findings CheckCudaEnvironment(const Subject& subject);
Findings CheckCudaRuntime(const Subject& subject);
Findings CheckGpus(const Subject& subject);
Findings CheckGpuContexts(const Subject& subject);
Findings CheckGpuTurns(const Subject& subject);

}  // namespace reveza::doctor
