// Explains why a program terminated, from its exit status, last output, limits and usage. Pure
// functions of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "common/platform/cgroup.h"
#include "common/platform/process_limits.h"
#include "reveza/insight/doctor/finding.h"

namespace reveza::doctor {

// The evidence. The more fields are set, the more reliable is the explanation.
struct Termination {
  std::string command;             // its name for messages
  std::optional<int> exit_status;  // as in a shell: 128 + signal means a signal
  std::optional<int> signal;
  std::string last_lines;  // of its standard error
  // /proc/PID/limits is readable until the dead process is reaped.
  std::optional<platform::ProcessLimits> limits;
  platform::ProcessUse use;                   // maximum seen
  std::optional<std::uint64_t> maps;          // maximum number of mappings seen
  std::optional<std::uint64_t> kills_before;  // OOM kills in its control group
  std::optional<std::uint64_t> kills_after;
  std::optional<std::uint64_t> refusals_before;  // of tasks by pids.max, in its control group
  std::optional<std::uint64_t> refusals_after;
  // The limits of its control group; if absent, those of this process are used.
  std::optional<platform::CgroupUsage> memory;
  std::optional<platform::CgroupUsage> tasks;
};

// Returns the cause:
//   kThreadLocalData  "cannot allocate memory for thread-local data" (status 127) and its cause:
//                     address space, data, mappings or overcommit
//   kOutOfMemoryKill  SIGKILL, and the OOM kill count of the control group grew
//   kProcessLimit, kCgroupPids, kThreadCeiling, kAddressSpace
//                     a thread or process could not be started (EAGAIN); for kCgroupPids a grown
//                     count of refusals suffices
//   kAddressSpace, kDataLimit, kMapCount, kOvercommit
//                     an allocation failed under a limit (ENOMEM, MemoryError, std::bad_alloc)
//   kOpenFiles        no further file could be opened (EMFILE)
// nullopt if it is none of these. Sources: elf/dl-tls.c and nptl/allocatestack.c of
// the GNU C library, kernel/fork.c of Linux.
std::optional<Finding> ExplainTermination(const Termination& termination,
                                          const std::filesystem::path& root = "/");

}  // namespace reveza::doctor
