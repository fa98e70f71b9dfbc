// Limits of one process: address space, data, mappings, stacks, threads, descriptors, locked
// memory.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/units.h"
#include "doctor/checks.h"

namespace reveza::doctor {
namespace {

// From here on the next allocation of a usual size (a thread's stack, an arena) may fail.
constexpr double kNearly = 0.9;
constexpr Bytes kUsualStack = 8 * kMiB;
constexpr Bytes kLargeStack = 256 * kMiB;
constexpr std::uint64_t kFewFiles = 1024;
constexpr std::uint64_t kFewThreads = 1024;

constexpr const char* kNoMemory =
    "what exceeds it fails as if memory were out: malloc and mmap give ENOMEM, pthread_create "
    "EAGAIN, and a library's first use in a thread ends the program with 'cannot allocate memory "
    "for thread-local data: ABORT' and status 127";

bool Near(std::uint64_t used, std::uint64_t limit) {
  return static_cast<double>(used) >= kNearly * static_cast<double>(limit);
}

Finding AddressSpace(const ProcessView& process, std::uint64_t limit, bool gpu_here) {
  Finding finding{
      .id = Id::kAddressSpace,
      .severity = Severity::kWarning,
      .sure = Sureness::kRead,
      .observed =
          fmt::format("{} may have {} of address space", Called(process), FormatBytes(limit)),
      .limit = fmt::format("RLIMIT_AS = {} (ulimit -v {})", FormatBytes(limit), limit / kKiB),
      .why = kNoMemory,
      .fix =
          "take the limit away: resource.RLIMIT_AS (or ulimit -v) in the script that "
          "starts it; to bound memory use memory.max of a control group, such as "
          "systemd-run --user --scope -p MemoryMax=8G -- COMMAND"};
  const std::uint64_t used =
      process.use.address_peak.value_or(process.use.address_space.value_or(0));
  if (used > 0) finding.observed += fmt::format(", has used {}", FormatBytes(used));
  if (UsesCuda(process)) {
    finding.severity = Severity::kFatal;
    finding.observed += ", and has loaded CUDA's driver";
    finding.why = fmt::format(
        "CUDA reserves far more address space than it uses (64 GiB and more "
        "for a small program); {}",
        kNoMemory);
  } else if (Near(used, limit)) {
    finding.severity = Severity::kFatal;
  } else if (process.pid == 0 && gpu_here) {
    finding.severity = Severity::kFatal;
    finding.why = fmt::format(
        "a CUDA program started here reserves far more address space than "
        "it uses and will not live with it; {}",
        kNoMemory);
  }
  return finding;
}

Finding Fine(Id id, std::string observed, std::string limit = "") {
  return {.id = id,
          .severity = Severity::kFine,
          .sure = Sureness::kRead,
          .observed = std::move(observed),
          .limit = std::move(limit),
          .why = "",
          .fix = ""};
}

Finding Hidden(const ProcessView& process) {
  return {.id = Id::kAddressSpace,
          .severity = Severity::kNote,
          .sure = Sureness::kRead,
          .observed = fmt::format("the limits of {} cannot be read", Called(process)),
          .limit = "",
          .why = "it belongs to another user, or has ended",
          .fix = "run the doctor as the user who started it"};
}

std::string Amount(const platform::Limit& limit) {
  return limit.soft ? FormatBytes(*limit.soft) : "unlimited";
}

void CheckStack(const ProcessView& process, const platform::ProcessLimits& limits,
                Findings& findings) {
  const auto& stack = limits.stack;
  const auto threads = process.use.threads.value_or(0);
  if (stack.soft && *stack.soft > kLargeStack) {
    findings.push_back(
        {.id = Id::kStackLimit,
         .severity = Severity::kWarning,
         .sure = Sureness::kRead,
         .observed = fmt::format("each thread of {} gets {} of address space for its stack",
                                 Called(process), FormatBytes(*stack.soft)),
         .limit = fmt::format("RLIMIT_STACK = {}", FormatBytes(*stack.soft)),
         .why = fmt::format("{} threads need {} of address space; under RLIMIT_AS or "
                            "overcommit_memory=2 far fewer threads fit, and pthread_create fails",
                            std::max<std::uint64_t>(threads, 64),
                            FormatBytes(*stack.soft * std::max<std::uint64_t>(threads, 64))),
         .fix = fmt::format("ulimit -s {}", kUsualStack / kKiB)});
    return;
  }
  findings.push_back(Fine(Id::kStackLimit, fmt::format("stacks of threads: {}",
                                                       stack.soft ? FormatBytes(*stack.soft)
                                                                  : "2 MiB (unlimited is set)")));
}

void CheckThreads(const ProcessView& process, const platform::ProcessLimits& limits,
                  Findings& findings) {
  const auto& limit = limits.processes;
  if (!limit.soft || *limit.soft >= kFewThreads) {
    findings.push_back(
        Fine(Id::kProcessLimit,
             fmt::format("processes and threads of this user: {}",
                         limit.soft ? fmt::format("at most {}", *limit.soft) : "unlimited")));
    return;
  }
  findings.push_back(
      {.id = Id::kProcessLimit,
       .severity = Severity::kWarning,
       .sure = Sureness::kRead,
       .observed = fmt::format("the user of {} may have {} processes and threads in all",
                               Called(process), *limit.soft),
       .limit = fmt::format("RLIMIT_NPROC = {} (root is not bound by it)", *limit.soft),
       .why = "all programs of the user count together; the next thread fails with EAGAIN "
              "('Resource temporarily unavailable')",
       .fix = fmt::format("ulimit -u {}; for always: a line '* soft nproc 65536' in "
                          "/etc/security/limits.conf",
                          limit.hard ? std::to_string(*limit.hard) : "unlimited")});
}

void CheckFiles(const ProcessView& process, const platform::ProcessLimits& limits,
                Findings& findings) {
  const auto& limit = limits.open_files;
  const auto used = process.use.open_files;
  const bool few = limit.soft && *limit.soft < kFewFiles;
  const bool near = limit.soft && used && Near(*used, *limit.soft);
  if (!few && !near) {
    findings.push_back(
        Fine(Id::kOpenFiles, fmt::format("open files of {}: {}{}", Called(process),
                                         used ? fmt::format("{} of ", *used) : "at most ",
                                         limit.soft ? std::to_string(*limit.soft) : "any number")));
    return;
  }
  findings.push_back(
      {.id = Id::kOpenFiles,
       .severity = near ? Severity::kFatal : Severity::kWarning,
       .sure = Sureness::kRead,
       .observed = fmt::format("{} may open {} files{}", Called(process), *limit.soft,
                               used ? fmt::format(" and has {} open", *used) : ""),
       .limit = fmt::format("RLIMIT_NOFILE = {}", *limit.soft),
       .why = "each worker, pipe and data file takes one; the next open fails with EMFILE ('Too "
              "many open files')",
       .fix = fmt::format("ulimit -n {}",
                          limit.hard ? std::to_string(*limit.hard) : std::string("1048576"))});
}

// "3 MiB locked and 1 GiB pinned"; what is not known is not said.
std::string LockedNow(const platform::ProcessUse& use) {
  std::string text;
  if (use.locked) text = fmt::format("{} locked", FormatBytes(*use.locked));
  if (!use.pinned) return text;
  return fmt::format("{}{}{} pinned", text, text.empty() ? "" : " and ", FormatBytes(*use.pinned));
}

void CheckLocked(const ProcessView& process, const platform::ProcessLimits& limits,
                 Findings& findings) {
  const auto& limit = limits.locked_memory;
  const std::string now = LockedNow(process.use);
  const bool remote =
      process.maps && platform::FindLibrary(*process.maps, "libibverbs.so").has_value();
  // Which of the two the kernel counts against the limit depends on who pins.
  const std::uint64_t used =
      std::max(process.use.locked.value_or(0), process.use.pinned.value_or(0));
  const bool near = limit.soft && *limit.soft > 0 && Near(used, *limit.soft);
  if (!limit.soft || (!remote && !near)) {
    findings.push_back(Fine(
        Id::kLockedMemory,
        fmt::format("locked memory of {}: {}{}{} (CUDA's pinned memory is in neither of these, "
                    "and not bound by the limit)",
                    Called(process), now, now.empty() ? "" : ", ",
                    limit.soft ? fmt::format("at most {}", Amount(limit)) : "unlimited")));
    return;
  }
  findings.push_back(
      {.id = Id::kLockedMemory,
       .severity = Severity::kWarning,
       .sure = Sureness::kRead,
       .observed = fmt::format("{}{} may lock {}{}", Called(process),
                               remote ? " uses InfiniBand or RoCE and" : "",
                               FormatBytes(*limit.soft), now.empty() ? "" : "; it has " + now),
       .limit = fmt::format("RLIMIT_MEMLOCK = {} (ulimit -l {})", FormatBytes(*limit.soft),
                            *limit.soft / kKiB),
       .why = remote ? "memory that is registered for the network counts as locked; registration "
                       "fails with ENOMEM, and NCCL falls back to sockets or stops"
                     : "the next mlock fails with ENOMEM or EAGAIN; so do buffers registered for "
                       "io_uring or the network",
       .fix = "ulimit -l unlimited; in containers --ulimit memlock=-1; for always: a line "
              "'* - memlock unlimited' in /etc/security/limits.conf"});
}

void CheckData(const ProcessView& process, const platform::ProcessLimits& limits,
               Findings& findings) {
  const auto& limit = limits.data;
  if (!limit.soft) {
    findings.push_back(Fine(Id::kDataLimit, fmt::format("data of {}: unlimited", Called(process))));
    return;
  }
  const auto used = process.use.data.value_or(0);
  findings.push_back(
      {.id = Id::kDataLimit,
       .severity = Near(used, *limit.soft) ? Severity::kFatal : Severity::kWarning,
       .sure = Sureness::kRead,
       .observed = fmt::format("{} may have {} of private writable memory{}", Called(process),
                               FormatBytes(*limit.soft),
                               used > 0 ? fmt::format(" and has {}", FormatBytes(used)) : ""),
       .limit = fmt::format("RLIMIT_DATA = {}", FormatBytes(*limit.soft)),
       .why = fmt::format("stacks of threads count too, touched or not; {}", kNoMemory),
       .fix = "ulimit -d unlimited; to bound memory use memory.max of a control group"});
}

}  // namespace

Findings CheckAddressSpace(const Subject& subject) {
  Findings findings;
  const bool gpu_here = HasNvidiaDriver(subject.root);
  for (const ProcessView& process : Processes(subject)) {
    if (!process.limits) {
      findings.push_back(Hidden(process));
    } else if (process.limits->address_space.soft) {
      findings.push_back(AddressSpace(process, *process.limits->address_space.soft, gpu_here));
    } else {
      findings.push_back(
          Fine(Id::kAddressSpace, fmt::format("address space of {}: unlimited", Called(process))));
    }
  }
  return findings;
}

Findings CheckMapCount(const Subject& subject) {
  Findings findings;
  const auto limit = platform::ReadKernelLimits(subject.root).max_map_count;
  for (const ProcessView& process : Processes(subject)) {
    if (!limit) break;
    if (!process.maps) {
      const std::string of = process.pid == 0
                                 ? std::string("a process")
                                 : fmt::format("{}, which cannot be counted", Called(process));
      findings.push_back(
          Fine(Id::kMapCount, fmt::format("mappings of {}: at most {}", of, *limit)));
      continue;
    }
    const std::uint64_t count = process.maps->count;
    const bool half = count * 2 >= *limit;
    findings.push_back(
        {.id = Id::kMapCount,
         .severity = Near(count, *limit) ? Severity::kFatal
                     : half              ? Severity::kWarning
                                         : Severity::kFine,
         .sure = Sureness::kMeasured,
         .observed = fmt::format("{} has {} mappings", Called(process), count),
         .limit = fmt::format("vm.max_map_count = {}", *limit),
         .why = "each thread takes two mappings, each CUDA reservation and each piece of a "
                "fragmented heap one or more; at the limit mmap fails although memory is free, and "
                "a library's first use in a thread ends the program with 'cannot allocate memory "
                "for thread-local data: ABORT' and status 127",
         .fix = "sudo sysctl vm.max_map_count=1048576; for always: that line without sudo sysctl "
                "in /etc/sysctl.d/90-maps.conf"});
  }
  return findings;
}

Findings CheckProcessLimits(const Subject& subject) {
  Findings findings;
  for (const ProcessView& process : Processes(subject)) {
    if (!process.limits) continue;
    CheckData(process, *process.limits, findings);
    CheckStack(process, *process.limits, findings);
    CheckThreads(process, *process.limits, findings);
    CheckFiles(process, *process.limits, findings);
    CheckLocked(process, *process.limits, findings);
  }
  return findings;
}

Findings CheckThreadCeiling(const Subject& subject) {
  const platform::KernelLimits kernel = platform::ReadKernelLimits(subject.root);
  std::optional<std::uint64_t> ceiling;
  for (const auto& limit : {kernel.threads_max, kernel.pid_max}) {
    if (limit && (!ceiling || *limit < *ceiling)) ceiling = limit;
  }
  if (!ceiling) return {};
  const auto now = kernel.threads_now;
  const bool near = now && Near(*now, *ceiling);
  const bool half = now && *now * 2 >= *ceiling;
  return {
      {.id = Id::kThreadCeiling,
       .severity = near   ? Severity::kFatal
                   : half ? Severity::kWarning
                          : Severity::kFine,
       .sure = Sureness::kRead,
       .observed = now ? fmt::format("{} threads live on this machine", *now)
                       : std::string("how many threads live is not known"),
       .limit = fmt::format("{} (kernel.threads-max {}, kernel.pid_max {})", *ceiling,
                            kernel.threads_max ? std::to_string(*kernel.threads_max) : "unknown",
                            kernel.pid_max ? std::to_string(*kernel.pid_max) : "unknown"),
       .why = "threads of all users count together; the next one fails with EAGAIN",
       .fix = "sudo sysctl kernel.pid_max=4194304 kernel.threads-max=1000000; or start fewer "
              "threads (OMP_NUM_THREADS)"}};
}

}  // namespace reveza::doctor
