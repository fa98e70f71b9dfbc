// What admission asks of the machine, read at once. What cannot be read is absent.
// Thread-safety: pure functions of the files.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "platform/gpu_monitor.h"
#include "runner/decide/admission.h"

namespace reveza::runner {

// Memory and pressure, of the machine and of our cgroup: the tighter of the two. Pressure of the
// machine is nothing where half of its memory is available: it is that of some other cgroup, at its
// own limit. `others_cpus` and `gpus` are left to the caller.
Reading ReadMachine(std::chrono::nanoseconds now, const std::filesystem::path& root = "/");

// Cores that this process and its children may use: the least of its mask, its cgroup's set and its
// quota. At least a hundredth.
double UsableCores(const std::filesystem::path& root = "/");

// GPUs of which it is known how much memory they have and how much is used. Nothing when there are
// some and none says it.
std::optional<std::vector<GpuMemory>> GpuMemoryOf(std::span<const platform::GpuReading> gpus);

}  // namespace reveza::runner
