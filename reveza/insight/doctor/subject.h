// The subject of an examination: this machine, a process with its descendants, or the recorded
// processes of a command. Values, and pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/platform/cgroup.h"
#include "common/platform/machine.h"
#include "common/platform/process_limits.h"
#include "reveza/insight/doctor/activity.h"

namespace reveza::doctor {

// A process at one moment, or the extremes over many samples.
struct ProcessView {
  pid_t pid = 0;
  std::string name;                               // its command, truncated
  std::optional<platform::ProcessLimits> limits;  // nullopt: hidden from this user
  platform::ProcessUse use;
  std::optional<platform::ProcessMaps> maps;
  std::optional<Activity> activity;                // if it was sampled
  std::map<std::string, std::string> environment;  // at program start
};

// Reads a process (0: this one). nullopt if it does not exist.
std::optional<ProcessView> ReadProcess(pid_t pid, const std::filesystem::path& root = "/");

// Lowers each limit to that of `other` if the latter is tighter.
void TightenLimits(platform::ProcessLimits& limits, const platform::ProcessLimits& other);
// Merges a newer sample: the tighter limits, the larger usage, the union of the libraries.
void Merge(ProcessView& into, ProcessView newer);

// Returns "python train.py (pid 12)", or "a process started here" for pid 0.
std::string DisplayName(const ProcessView& process);

struct Subject {
  std::filesystem::path root = "/";
  pid_t pid = 0;  // 0: the machine, as seen by a process started here
  std::optional<std::vector<ProcessView>> seen;  // processes of a command that has run
  std::string nvml = "libnvidia-ml.so.1";
  std::string cuda = "libcuda.so.1";
  bool deep = false;
};

// Returns the processes of the subject, at most 64.
std::vector<ProcessView> Processes(const Subject& subject);

// Returns the CPUs available to a process of the subject: the minimum of the machine's CPUs, its
// affinity and its cgroup quota. nullopt if all are unknown.
std::optional<double> CpuShare(const Subject& subject);

// Returns whether this machine has an NVIDIA GPU with its driver.
bool HasNvidiaDriver(const std::filesystem::path& root = "/");

// Returns whether the process has loaded the CUDA driver.
bool UsesCuda(const ProcessView& process);

}  // namespace reveza::doctor
