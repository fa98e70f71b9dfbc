// Explains how an attempt ended: tells out-of-memory deaths from other failures and asks the doctor
// about known causes. Changes nothing; reads the step's output and the kernel's counters.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/platform/cgroup.h"
#include "reveza/insight/doctor/subject.h"
#include "reveza/insight/doctor/termination.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

struct ActiveAttempt;  // worker_pool.h

struct Explanation {
  std::string text;                     // for the user; empty: nothing to add to the result
  Outcome outcome = Outcome::kUnknown;  // the actual outcome, which may be kMemory
  bool gpu_oom = false;                 // failed because the GPU had no memory left
};

// Tells which attempts saw pids.max refuse a thread or process in the control group of the runner,
// where its steps run too. Reads nothing until an attempt has failed. Not thread-safe.
class TaskRefusals {
 public:
  explicit TaskRefusals(const std::filesystem::path& root = "/");
  // Fills in the count before and after an attempt that began at `since` and has just failed.
  void FillIn(doctor::Termination& death, WallTime since);

 private:
  std::optional<platform::CgroupLocation> group_;
  std::optional<std::uint64_t> before_, seen_;  // at the last two readings that differed
  WallTime grown_at_ = 0;
};

// Explains `result` of the attempt `active`. `files`: path of its outputs without extension;
// `root`: of the files that describe the machine.
Explanation Explain(const ActiveAttempt& active, const AttemptResult& result,
                    const std::filesystem::path& files, TaskRefusals& refusals,
                    const std::filesystem::path& root = "/");

// Returns the peak memory of an attempt according to samples, rusage and its cgroup.
Bytes PeakMemory(const ActiveAttempt& active, const AttemptResult& result);

// Samples the limits and usage of a step's processes while they live, to explain its death later: a
// dead process leaves only its limits, and those of reaped children are lost. Not thread-safe;
// belongs to the runner's loop.
class DeathEvidence {
 public:
  // Samples the step's processes; call about once a second. Mappings are counted only at the first
  // and every tenth sample, because that is slow for large processes.
  void Sample(std::span<const pid_t> processes, const std::filesystem::path& root = "/");
  // Adds the text of /proc/PID/limits of the step's main process, taken after its death.
  void AddLimits(std::string_view text);
  // Fills limits, usage and mappings of `death` with what is known: of the process that came
  // closest to one of its limits, with the tightest limits of any process.
  void FillIn(doctor::Termination& death) const;

 private:
  void Tighten(const platform::ProcessLimits& limits);

  std::optional<platform::ProcessLimits> limits_;
  std::optional<doctor::ProcessView> closest_;
  double closeness_ = 0;
  std::optional<std::uint64_t> threads_;  // maximum of any process
  std::optional<bool> exempt_;            // whether RLIMIT_NPROC binds none of them
  unsigned samples_ = 0;
};

// Returns the last out-of-memory message of CUDA, PyTorch, JAX, TensorFlow or CuPy in a program's
// last output, truncated to 200 characters. Weak evidence: any program may print such a line.
std::optional<std::string> FindGpuOomMessage(std::string_view last_lines);

}  // namespace reveza::jobs
