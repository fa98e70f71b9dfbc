// What the doctor looks at: this machine, a process with all below it, or what was seen of a
// command while it ran. Thread-safety: values, and pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor/activity.h"
#include "platform/cgroup.h"
#include "platform/machine.h"
#include "platform/process_limits.h"
#include "platform/process_maps.h"

namespace reveza::doctor {

// One process, as it was at one moment or at its worst over many.
struct ProcessView {
  pid_t pid = 0;
  std::string name;                               // its command, shortened
  std::optional<platform::ProcessLimits> limits;  // nothing: hidden from this user
  platform::ProcessUse use;
  std::optional<platform::ProcessMaps> maps;
  std::optional<Activity> activity;                // where it was watched for a while
  std::map<std::string, std::string> environment;  // as it was when the program began
};

// 0: this process. Nothing when there is no such process.
std::optional<ProcessView> Look(pid_t pid, const std::filesystem::path& root = "/");

// Takes what is tighter in `other`.
void Tighten(platform::ProcessLimits& limits, const platform::ProcessLimits& other);
// The tighter of the limits, the larger of the uses, the union of the libraries.
void Merge(ProcessView& into, ProcessView newer);

// `pid` and all below it, parents first.
std::vector<pid_t> Family(pid_t pid, const std::filesystem::path& root = "/");

// "python train.py (pid 12)", or "this shell".
std::string Called(const ProcessView& process);

struct Subject {
  std::filesystem::path root = "/";
  pid_t pid = 0;  // 0: the machine, as a process started here finds it
  std::optional<std::vector<ProcessView>> seen;  // of a command that has run
  std::string nvml = "libnvidia-ml.so.1";
  std::string cuda = "libcuda.so.1";
  bool deep = false;
};

// At most 64 of them, all that there is to say about.
std::vector<ProcessView> Processes(const Subject& subject);

// How many CPUs a process of the subject really has: the least of the machine's, of those it may
// run on, and of its cgroup's quota. Nothing when none of these is known.
std::optional<double> CpuShare(const Subject& subject);

// Whether this machine has a GPU of NVIDIA with its driver.
bool HasNvidiaDriver(const std::filesystem::path& root = "/");

// Whether the process has CUDA's driver loaded.
bool UsesCuda(const ProcessView& process);

}  // namespace reveza::doctor
