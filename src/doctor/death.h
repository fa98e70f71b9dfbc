// Why a program died, where what it left behind tells. For the runner, and for the doctor's own
// trial of a command. Thread-safety: pure functions of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "doctor/finding.h"
#include "platform/cgroup.h"
#include "platform/process_limits.h"

namespace reveza::doctor {

// What is known of it. The more is filled in, the surer is the answer.
struct Death {
  std::string command;             // how to call it
  std::optional<int> exit_status;  // as a shell has it: 128 + signal is taken for the signal
  std::optional<int> signal;
  std::string last_lines;  // of what it wrote to standard error
  // /proc/PID/limits can be read until the dead process has been waited for.
  std::optional<platform::ProcessLimits> limits;
  platform::ProcessUse use;                   // the most that was seen
  std::optional<std::uint64_t> maps;          // the most mappings that were seen
  std::optional<std::uint64_t> kills_before;  // of its control group for memory
  std::optional<std::uint64_t> kills_after;
  // The limits of its control group as they were; else those of this process are taken.
  std::optional<platform::CgroupMemory> memory;
  std::optional<platform::CgroupTasks> tasks;
};

// What ended it:
//   kThreadLocalData  "cannot allocate memory for thread-local data" (status 127), with its cause:
//                     address space, data, mappings, or overcommit
//   kOutOfMemoryKill  SIGKILL while the control group's count of kills grew
//   kProcessLimit, kCgroupPids, kThreadCeiling, kAddressSpace
//                     no thread or process could be started (EAGAIN)
// Nothing when it is none of these. Source of the causes: elf/dl-tls.c and nptl/allocatestack.c of
// the GNU C library, kernel/fork.c of Linux.
std::optional<Finding> ExplainDeath(const Death& death, const std::filesystem::path& root = "/");

}  // namespace reveza::doctor
