// Limits of a process: address space, data, mappings, stacks, threads, file descriptors, locked
// memory.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "common/base/units.h"
#include "reveza/insight/doctor/checks.h"
#include "reveza/insight/doctor/limit_fix.h"

namespace reveza::doctor {
namespace {

// Above this share the next large allocation (a thread stack, an arena) may fail.
constexpr double kNearLimitShare = 0.9;
constexpr Bytes kDefaultStack = 8 * kMiB;
constexpr Bytes kLargeStack = 256 * kMiB;
constexpr std::uint64_t kMinFiles = 1024;
constexpr std::uint64_t kMinThreads = 1024;

constexpr const char* kEnomemEffects =
    "allocations beyond it fail as if memory were exhausted: malloc and mmap with ENOMEM, "
    "pthread_create with EAGAIN, and a library's first use in a thread aborts the program with "
    "'cannot allocate memory for thread-local data: ABORT' and status 127";

bool IsNearLimit(std::uint64_t used, std::uint64_t limit) {
  return static_cast<double>(used) >= kNearLimitShare * static_cast<double>(limit);
}

Finding AddressSpace(const ProcessView& process, std::uint64_t limit, bool gpu_here) {
  Finding finding{
      .id = Id::kAddressSpace,
      .severity = Severity::kWarning,
      .observed = fmt::format("{} is limited to {} of address space", DisplayName(process),
                              FormatBytes(limit)),
      .limit = fmt::format("RLIMIT_AS = {} (ulimit -v {})", FormatBytes(limit), limit / kKiB),
      .why = kEnomemEffects,
      .fix =
          "remove the limit: resource.RLIMIT_AS (or ulimit -v) in the script that starts it; to "
          "limit memory use memory.max of a control group, e.g. systemd-run --user --scope -p "
          "MemoryMax=8G -- COMMAND"};
  const std::uint64_t used =
      process.use.address_peak.value_or(process.use.address_space.value_or(0));
  if (used > 0) finding.observed += fmt::format(", has used {}", FormatBytes(used));
  if (UsesCuda(process)) {
    finding.severity = Severity::kFatal;
    finding.observed += ", and has loaded the CUDA driver";
    finding.why = fmt::format(
        "CUDA reserves far more address space than it uses (64 GiB and more for a small program); "
        "{}",
        kEnomemEffects);
  } else if (IsNearLimit(used, limit)) {
    finding.severity = Severity::kFatal;
  } else if (process.pid == 0 && gpu_here) {
    finding.severity = Severity::kFatal;
    finding.why = fmt::format(
        "a CUDA program started here reserves far more address space than it uses and will fail; "
        "{}",
        kEnomemEffects);
  }
  return finding;
}

Finding StackFinding(const ProcessView& process, const platform::ProcessLimits& limits) {
  const auto& stack = limits.stack;
  const auto threads = process.use.threads.value_or(0);
  if (stack.soft && *stack.soft > kLargeStack) {
    return {
        .id = Id::kStackLimit,
        .severity = Severity::kWarning,
        .observed = fmt::format("each thread of {} gets {} of address space for its stack",
                                DisplayName(process), FormatBytes(*stack.soft)),
        .limit = fmt::format("RLIMIT_STACK = {}", FormatBytes(*stack.soft)),
        .why = fmt::format("{} threads need {} of address space; under RLIMIT_AS or "
                           "overcommit_memory=2 far fewer threads fit, and pthread_create fails",
                           std::max<std::uint64_t>(threads, 64),
                           FormatBytes(*stack.soft * std::max<std::uint64_t>(threads, 64))),
        .fix = fmt::format("ulimit -s {}", kDefaultStack / kKiB)};
  }
  return Fine(Id::kStackLimit,
              fmt::format("thread stacks: {}",
                          stack.soft ? FormatBytes(*stack.soft) : "2 MiB (limit: unlimited)"));
}

Finding ThreadLimitFinding(const ProcessView& process, const platform::ProcessLimits& limits) {
  const auto& limit = limits.processes;
  const bool exempt = process.use.exempt_from_process_limit.value_or(false);
  if (exempt || !limit.soft || *limit.soft >= kMinThreads) {
    return Fine(Id::kProcessLimit,
                fmt::format("processes and threads of this user: {}{}",
                            limit.soft ? fmt::format("at most {}", *limit.soft) : "unlimited",
                            limit.soft && exempt ? ", which does not bind root" : ""));
  }
  return {.id = Id::kProcessLimit,
          .severity = Severity::kWarning,
          .observed = fmt::format("the user of {} is limited to {} processes and threads in total",
                                  DisplayName(process), *limit.soft),
          .limit = fmt::format("RLIMIT_NPROC = {}", *limit.soft),
          .why =
              "all programs of the user count; the next thread fails with EAGAIN ('Resource "
              "temporarily unavailable')",
          .fix = HowToRaise("-u", "nproc", limit)};
}

Finding FilesFinding(const ProcessView& process, const platform::ProcessLimits& limits) {
  const auto& limit = limits.open_files;
  const auto used = process.use.open_files;
  const bool few = limit.soft && *limit.soft < kMinFiles;
  const bool near = limit.soft && used && IsNearLimit(*used, *limit.soft);
  if (!few && !near) {
    return Fine(Id::kOpenFiles,
                fmt::format("open files of {}: {}{}", DisplayName(process),
                            used ? fmt::format("{} of ", *used) : "at most ",
                            limit.soft ? std::to_string(*limit.soft) : "any number"));
  }
  return {.id = Id::kOpenFiles,
          .severity = near ? Severity::kFatal : Severity::kWarning,
          .observed = fmt::format("{} is limited to {} open files{}", DisplayName(process),
                                  *limit.soft, used ? fmt::format(" and has {} open", *used) : ""),
          .limit = fmt::format("RLIMIT_NOFILE = {}", *limit.soft),
          .why =
              "each worker, pipe and data file needs one; the next open fails with EMFILE ('Too "
              "many open files')",
          .fix = HowToRaise("-n", "nofile", limit)};
}

// Returns "3 MiB locked and 1 GiB pinned", omitting unknown values.
std::string LockedText(const platform::ProcessUse& use) {
  std::string text;
  if (use.locked) text = fmt::format("{} locked", FormatBytes(*use.locked));
  if (!use.pinned) return text;
  return fmt::format("{}{}{} pinned", text, text.empty() ? "" : " and ", FormatBytes(*use.pinned));
}

Finding LockedFinding(const ProcessView& process, const platform::ProcessLimits& limits) {
  const auto& limit = limits.locked_memory;
  const std::string now = LockedText(process.use);
  const bool remote =
      process.maps && platform::FindLibrary(*process.maps, "libibverbs.so").has_value();
  // Which of the two counts against the limit depends on the driver.
  const std::uint64_t used =
      std::max(process.use.locked.value_or(0), process.use.pinned.value_or(0));
  const bool near = limit.soft && *limit.soft > 0 && IsNearLimit(used, *limit.soft);
  if (!limit.soft || (!remote && !near)) {
    return Fine(
        Id::kLockedMemory,
        fmt::format("locked memory of {}: {}{}{} (memory pinned by CUDA counts in neither and "
                    "is not limited)",
                    DisplayName(process), now, now.empty() ? "" : ", ",
                    limit.soft ? "at most " + FormatBytes(*limit.soft) : "unlimited"));
  }
  return {.id = Id::kLockedMemory,
          .severity = Severity::kWarning,
          .observed = fmt::format("{}{} may lock {}{}", DisplayName(process),
                                  remote ? " uses InfiniBand or RoCE and" : "",
                                  FormatBytes(*limit.soft), now.empty() ? "" : "; it has " + now),
          .limit = fmt::format("RLIMIT_MEMLOCK = {} (ulimit -l {})", FormatBytes(*limit.soft),
                               *limit.soft / kKiB),
          .why = remote
                     ? "memory that is registered for the network counts as locked; registration "
                       "fails with ENOMEM, and NCCL falls back to sockets or stops"
                     : "the next mlock fails with ENOMEM or EAGAIN; so do buffers registered for "
                       "io_uring or the network",
          .fix = HowToRaise("-l", "memlock", limit)};
}

Finding DataFinding(const ProcessView& process, const platform::ProcessLimits& limits) {
  const auto& limit = limits.data;
  if (!limit.soft) {
    return Fine(Id::kDataLimit, fmt::format("data of {}: unlimited", DisplayName(process)));
  }
  const auto used = process.use.data.value_or(0);
  return {.id = Id::kDataLimit,
          .severity = IsNearLimit(used, *limit.soft) ? Severity::kFatal : Severity::kWarning,
          .observed = fmt::format("{} is limited to {} of private writable memory{}",
                                  DisplayName(process), FormatBytes(*limit.soft),
                                  used > 0 ? fmt::format(" and has {}", FormatBytes(used)) : ""),
          .limit = fmt::format("RLIMIT_DATA = {}", FormatBytes(*limit.soft)),
          .why = fmt::format("thread stacks count fully, touched or not; {}", kEnomemEffects),
          .fix = HowToRaise("-d", "data", limit)};
}

}  // namespace

Findings CheckAddressSpace(const Subject& subject) {
  Findings findings;
  const bool gpu_here = HasNvidiaDriver(subject.root);
  for (const ProcessView& process : Processes(subject)) {
    if (!process.limits) {
      findings.push_back(MakeFinding(
          Id::kAddressSpace, Severity::kNote,
          fmt::format("cannot read the limits of {}", DisplayName(process)), "",
          "it belongs to another user or has exited", "run the doctor as the user who started it"));
    } else if (process.limits->address_space.soft) {
      findings.push_back(AddressSpace(process, *process.limits->address_space.soft, gpu_here));
    } else {
      findings.push_back(Fine(Id::kAddressSpace,
                              fmt::format("address space of {}: unlimited", DisplayName(process))));
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
                                 : fmt::format("{} (count unknown)", DisplayName(process));
      findings.push_back(
          Fine(Id::kMapCount, fmt::format("mappings of {}: at most {}", of, *limit)));
      continue;
    }
    const std::uint64_t count = process.maps->count;
    const bool half = count * 2 >= *limit;
    findings.push_back(
        {.id = Id::kMapCount,
         .severity = IsNearLimit(count, *limit) ? Severity::kFatal
                     : half                     ? Severity::kWarning
                                                : Severity::kFine,
         .confidence = Confidence::kMeasured,
         .observed = fmt::format("{} has {} mappings", DisplayName(process), count),
         .limit = fmt::format("vm.max_map_count = {}", *limit),
         .why = "each thread takes two mappings, each CUDA reservation and each fragment of the "
                "heap one or more; at the limit mmap fails although memory is free, and a "
                "library's first use in a thread aborts the program with 'cannot allocate memory "
                "for thread-local data: ABORT' and status 127",
         .fix = HowToRaiseMapCount(*limit)});
  }
  return findings;
}

Findings CheckProcessLimits(const Subject& subject) {
  Findings findings;
  for (const ProcessView& process : Processes(subject)) {
    if (!process.limits) continue;
    for (const auto finding :
         {DataFinding, StackFinding, ThreadLimitFinding, FilesFinding, LockedFinding}) {
      findings.push_back(finding(process, *process.limits));
    }
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
  const bool near = now && IsNearLimit(*now, *ceiling);
  const bool half = now && *now * 2 >= *ceiling;
  return {
      {.id = Id::kThreadCeiling,
       .severity = near   ? Severity::kFatal
                   : half ? Severity::kWarning
                          : Severity::kFine,
       .observed = now ? fmt::format("{} threads exist on this machine", *now)
                       : std::string("the number of threads is unknown"),
       .limit = fmt::format("{} (kernel.threads-max {}, kernel.pid_max {})", *ceiling,
                            kernel.threads_max ? std::to_string(*kernel.threads_max) : "unknown",
                            kernel.pid_max ? std::to_string(*kernel.pid_max) : "unknown"),
       .why = "the threads of all users count; the next one fails with EAGAIN",
       .fix = HowToRaiseThreads(kernel.threads_max.value_or(0), kernel.pid_max.value_or(0))}};
}

}  // namespace reveza::doctor
