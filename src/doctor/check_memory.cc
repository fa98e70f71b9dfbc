// What bounds memory, tasks and CPU time of a group of processes, and of the machine. (Huge pages:
// check_huge_pages.cc.)
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "doctor/checks.h"

namespace reveza::doctor {
namespace {

constexpr double kNearly = 0.9;
constexpr double kTooTight = 0.98;
// Below this much a single framework's import may be killed.
constexpr Bytes kLittle = 2 * kGiB;
constexpr double kMuchKept = 0.5;

double Part(std::uint64_t used, std::uint64_t limit) {
  return limit == 0 ? 1.0 : static_cast<double>(used) / static_cast<double>(limit);
}

Severity ByPart(double part) {
  if (part >= kTooTight) return Severity::kFatal;
  return part >= kNearly ? Severity::kWarning : Severity::kFine;
}

Finding Overcommit(const platform::CommitState& memory, std::uint64_t mode) {
  Finding finding{.id = Id::kOvercommit,
                  .severity = Severity::kFine,
                  .sure = Sureness::kRead,
                  .observed = fmt::format("vm.overcommit_memory is {}", mode),
                  .limit = "",
                  .why = "",
                  .fix = ""};
  if (mode != 2) return finding;
  finding.severity = Severity::kWarning;
  finding.why =
      "the kernel promises no more memory than it has: address space that is reserved "
      "and never touched (CUDA, arenas, stacks) counts in full, and malloc fails while "
      "memory is free; a library's first use in a thread then ends the program with "
      "'cannot allocate memory for thread-local data: ABORT' and status 127";
  finding.fix =
      "sudo sysctl vm.overcommit_memory=0; or more swap, or a larger "
      "vm.overcommit_ratio";
  if (!memory.committed || !memory.commit_limit) return finding;
  finding.observed += fmt::format(", and {} are promised", FormatBytes(*memory.committed));
  finding.limit = fmt::format("CommitLimit = {}", FormatBytes(*memory.commit_limit));
  if (Part(*memory.committed, *memory.commit_limit) >= kNearly) {
    finding.severity = Severity::kFatal;
  }
  return finding;
}

Finding Swap(const platform::CommitState& memory) {
  const Bytes swap = memory.swap_total.value_or(0);
  Finding finding{.id = Id::kSwap,
                  .severity = Severity::kFine,
                  .sure = Sureness::kRead,
                  .observed = swap == 0 ? std::string("there is no swap")
                                        : fmt::format("{} of swap", FormatBytes(swap)),
                  .limit = "",
                  .why = "",
                  .fix = ""};
  if (swap == 0) {
    finding.severity = Severity::kNote;
    finding.why =
        "what is out of memory is killed at once, and memory.high throttles for ever "
        "instead of making room; a program that is paused frees nothing";
    finding.fix = "a swap file as large as what may be idle, or fewer workers";
  } else if (memory.swap_free && Part(swap - std::min(swap, *memory.swap_free), swap) >= kNearly) {
    finding.severity = Severity::kWarning;
    finding.observed += fmt::format(", {} of it free", FormatBytes(*memory.swap_free));
    finding.why = "when it is full, the kernel kills";
    finding.fix = "fewer workers at once, or more swap";
  }
  return finding;
}

// Memory that can neither be dropped nor written to swap: programs have locked it, or drivers have
// pinned it for their devices.
std::optional<Finding> Kept(const platform::CommitState& memory) {
  if (!memory.total || !memory.unevictable || !memory.driver_pages) return std::nullopt;
  const Bytes all = *memory.unevictable + *memory.driver_pages;
  const bool much = Part(all, *memory.total) >= kMuchKept;
  return Finding{
      .id = Id::kPinnedMemory,
      .severity = much ? Severity::kWarning : Severity::kFine,
      .sure = Sureness::kLikely,
      .observed = fmt::format("of the machine's memory {} are locked by programs and about {} are "
                              "taken by drivers, memory pinned for GPUs included",
                              FormatBytes(*memory.unevictable), FormatBytes(*memory.driver_pages)),
      .limit = fmt::format("{} of memory", FormatBytes(*memory.total)),
      .why = much ? "none of it can be reclaimed or swapped, and no limit of a process counts what "
                    "CUDA pins: the rest runs out first, and the kernel kills"
                  : "",
      .fix = much ? "fewer workers with pinned buffers (cudaMallocHost, pin_memory=True of a "
                    "DataLoader), or smaller ones; for Reveza a smaller host budget "
                    "(REVEZA_HOST_BUDGET)"
                  : ""};
}

Finding CgroupMemory(const platform::CgroupMemory& memory, const std::optional<Bytes>& machine) {
  const double part = Part(memory.used, memory.limit);
  Severity severity = ByPart(part);
  const bool little = memory.limit < kLittle && machine && *machine > 2 * memory.limit;
  if (severity == Severity::kFine && little) severity = Severity::kWarning;
  return {.id = Id::kCgroupMemory,
          .severity = severity,
          .sure = Sureness::kRead,
          .observed = fmt::format("the control group has used {} of {}", FormatBytes(memory.used),
                                  FormatBytes(memory.limit)),
          .limit = fmt::format("{} in {}", FormatBytes(memory.limit), memory.folder),
          .why =
              "at the limit the kernel kills a process of the group (SIGKILL, status 137); free "
              "memory of the machine does not help",
          .fix =
              "a larger limit (docker run --memory, resources.limits.memory, MemoryMax=), or "
              "fewer workers: reveza jobs run admits by this limit"};
}

Finding CgroupTasks(const platform::CgroupTasks& tasks) {
  Severity severity = ByPart(Part(tasks.used, tasks.limit));
  if (severity == Severity::kFine && tasks.limit < tasks.used + 1024) {
    severity = Severity::kWarning;
  }
  return {.id = Id::kCgroupPids,
          .severity = severity,
          .sure = Sureness::kRead,
          .observed = fmt::format("{} processes and threads are in the control group", tasks.used),
          .limit = fmt::format("pids.max = {} in {}", tasks.limit, tasks.folder),
          .why =
              "the next thread or process fails with EAGAIN ('Resource temporarily "
              "unavailable')",
          .fix =
              "a larger limit (docker run --pids-limit=-1, TasksMax=infinity), or fewer threads "
              "(OMP_NUM_THREADS)"};
}

Finding CgroupQuota(const platform::CgroupQuota& quota, std::optional<unsigned> online) {
  const double throttled = quota.periods && quota.throttled && *quota.periods > 0
                               ? Part(*quota.throttled, *quota.periods)
                               : 0.0;
  const bool less = online && quota.cpus < static_cast<double>(*online);
  return {
      .id = Id::kCgroupCpu,
      .severity = less && throttled >= 0.05 ? Severity::kWarning
                  : less                    ? Severity::kNote
                                            : Severity::kFine,
      .sure = Sureness::kRead,
      .observed = fmt::format("the control group gets {:.3g} CPUs' time{}{}", quota.cpus,
                              online ? fmt::format(" of {} that programs see", *online) : "",
                              throttled > 0 ? fmt::format(", and had to wait in {:.0f} % of its "
                                                          "periods",
                                                          100 * throttled)
                                            : ""),
      .limit = fmt::format("{:.3g} CPUs in {}", quota.cpus, quota.folder),
      .why =
          "libraries start a thread for each CPU that they see; all of them then stand still "
          "for the rest of each period",
      .fix = fmt::format("OMP_NUM_THREADS={}, and as many workers; or a larger quota (docker run "
                         "--cpus, CPUQuota=)",
                         std::max(1, static_cast<int>(quota.cpus)))};
}

}  // namespace

Findings CheckMemory(const Subject& subject) {
  Findings findings;
  const platform::CommitState memory = platform::ReadCommitState(subject.root);
  const platform::KernelLimits kernel = platform::ReadKernelLimits(subject.root);
  if (kernel.overcommit) findings.push_back(Overcommit(memory, *kernel.overcommit));
  if (memory.swap_total) findings.push_back(Swap(memory));
  if (const auto kept = Kept(memory)) findings.push_back(*kept);
  return findings;
}

Findings CheckCgroups(const Subject& subject) {
  Findings findings;
  const platform::MachineCores cores = platform::ReadMachineCores(subject.pid, subject.root);
  const auto machine = platform::ReadCommitState(subject.root).total;
  const auto memory = platform::ReadCgroupMemory(subject.pid, subject.root);
  if (memory) findings.push_back(CgroupMemory(*memory, machine));
  const auto tasks = platform::ReadCgroupTasks(subject.pid, subject.root);
  if (tasks) findings.push_back(CgroupTasks(*tasks));
  const auto quota = platform::ReadCgroupQuota(subject.pid, subject.root);
  if (quota) findings.push_back(CgroupQuota(*quota, cores.online));
  const auto set = platform::ReadCgroupCpus(subject.pid, subject.root);
  std::optional<unsigned> allowed = cores.allowed;
  if (set && (!allowed || *set < *allowed)) allowed = set;
  if (allowed && cores.online) {
    const bool less = *allowed < *cores.online;
    findings.push_back(
        {.id = Id::kCpuset,
         .severity = less ? Severity::kNote : Severity::kFine,
         .sure = Sureness::kRead,
         .observed = fmt::format("{} of {} CPUs may be used", *allowed, *cores.online),
         .limit = fmt::format("{} CPUs (affinity or cpuset)", *allowed),
         .why = less ? "programs that count the machine's CPUs start too many threads" : "",
         .fix = less ? fmt::format("OMP_NUM_THREADS={}; taskset -c 0-{} undoes an affinity",
                                   *allowed, *cores.online - 1)
                     : ""});
  }
  return findings;
}

}  // namespace reveza::doctor
