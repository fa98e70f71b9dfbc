// Memory of the machine, huge pages, memory, tasks and CPU time of control groups, and pressure.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/units.h"
#include "common/platform/machine.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace {

constexpr double kWarningShare = 0.9;
constexpr double kFatalShare = 0.98;
// With less, importing a single framework may exceed the limit.
constexpr Bytes kMinGroupMemory = 2 * kGiB;
constexpr double kMaxPinned = 0.5;

double Share(std::uint64_t used, std::uint64_t limit) {
  return limit == 0 ? 1.0 : static_cast<double>(used) / static_cast<double>(limit);
}

Severity SeverityByShare(double part) {
  if (part >= kFatalShare) return Severity::kFatal;
  return part >= kWarningShare ? Severity::kWarning : Severity::kFine;
}

Finding Overcommit(const platform::CommitState& memory, std::uint64_t mode) {
  Finding finding{.id = Id::kOvercommit,
                  .observed = fmt::format("vm.overcommit_memory is {}", mode)};
  if (mode != 2) return finding;
  finding.Raise(
      Severity::kWarning,
      "the kernel commits no more memory than it has: reserved but untouched address space (CUDA, "
      "arenas, stacks) counts fully, and malloc fails while memory is free; a library's first use "
      "in a thread then aborts the program with 'cannot allocate memory for thread-local data: "
      "ABORT' and status 127",
      "sudo sysctl vm.overcommit_memory=0; or more swap, or a larger vm.overcommit_ratio");
  if (!memory.committed || !memory.commit_limit) return finding;
  finding.observed += fmt::format(", and {} are committed", FormatBytes(*memory.committed));
  finding.limit = fmt::format("CommitLimit = {}", FormatBytes(*memory.commit_limit));
  if (Share(*memory.committed, *memory.commit_limit) >= kWarningShare) {
    finding.severity = Severity::kFatal;
  }
  return finding;
}

Finding Swap(const platform::CommitState& memory) {
  const Bytes swap = memory.swap_total.value_or(0);
  Finding finding{.id = Id::kSwap,
                  .observed = swap == 0 ? std::string("no swap")
                                        : fmt::format("{} of swap", FormatBytes(swap))};
  if (swap == 0) {
    finding.Raise(
        Severity::kNote,
        "out-of-memory processes are killed at once, memory.high throttles forever instead of "
        "making room, and a suspended program frees nothing",
        "a swap file as large as the idle programs, or fewer workers");
  } else if (memory.swap_free &&
             Share(swap - std::min(swap, *memory.swap_free), swap) >= kWarningShare) {
    finding.observed += fmt::format(", {} of it free", FormatBytes(*memory.swap_free));
    finding.Raise(Severity::kWarning, "when it is full, the OOM killer runs",
                  "fewer workers at once, or more swap");
  }
  return finding;
}

// Memory that can neither be reclaimed nor swapped: locked by programs or pinned by drivers.
std::optional<Finding> Pinned(const platform::CommitState& memory) {
  if (!memory.total || !memory.unevictable || !memory.driver_pages) return std::nullopt;
  Finding finding{
      .id = Id::kPinnedMemory,
      .confidence = Confidence::kLikely,
      .observed = fmt::format("{} of the machine's memory are locked by programs, and about {} are "
                              "allocated by drivers, including memory pinned for GPUs",
                              FormatBytes(*memory.unevictable), FormatBytes(*memory.driver_pages)),
      .limit = fmt::format("{} of memory", FormatBytes(*memory.total))};
  if (Share(*memory.unevictable + *memory.driver_pages, *memory.total) < kMaxPinned) return finding;
  return finding.Raise(
      Severity::kWarning,
      "none of it can be reclaimed or swapped, and no process limit counts what CUDA pins: the "
      "rest runs out, and the OOM killer runs",
      "fewer workers with pinned buffers (cudaMallocHost, pin_memory=True of a DataLoader), or "
      "smaller ones; for Reveza a smaller host budget (REVEZA_HOST_BUDGET)");
}

Finding CgroupMemory(const platform::CgroupUsage& memory, const std::optional<Bytes>& machine) {
  const double part = Share(memory.used, memory.limit);
  Severity severity = SeverityByShare(part);
  const bool little = memory.limit < kMinGroupMemory && machine && *machine > 2 * memory.limit;
  if (severity == Severity::kFine && little) severity = Severity::kWarning;
  return {
      .id = Id::kCgroupMemory,
      .severity = severity,
      .observed = fmt::format("the control group uses {} of {}", FormatBytes(memory.used),
                              FormatBytes(memory.limit)),
      .limit = fmt::format("{} ({} in {})", FormatBytes(memory.limit), memory.file, memory.folder),
      .why = memory.file == "memory.high"
                 ? "beyond it the kernel stalls the processes of the group to reclaim memory, "
                   "even if the machine has free memory"
                 : "at the limit the OOM killer kills a process of the group (SIGKILL, status "
                   "137), even if the machine has free memory",
      .fix =
          "a larger limit (docker run --memory, resources.limits.memory, MemoryMax=, MemoryHigh=), "
          "or fewer "
          "workers; reveza jobs run respects this limit"};
}

Finding CgroupTasks(const platform::CgroupUsage& tasks) {
  Severity severity = SeverityByShare(Share(tasks.used, tasks.limit));
  if (severity == Severity::kFine && tasks.limit < tasks.used + 1024) {
    severity = Severity::kWarning;
  }
  return {
      .id = Id::kCgroupPids,
      .severity = severity,
      .observed = fmt::format("{} processes and threads are in the control group", tasks.used),
      .limit = fmt::format("pids.max = {} in {}", tasks.limit, tasks.folder),
      .why = "the next thread or process fails with EAGAIN ('Resource temporarily unavailable')",
      .fix =
          "a larger limit (docker run --pids-limit=-1, TasksMax=infinity), or fewer threads "
          "(OMP_NUM_THREADS)"};
}

Finding CgroupQuota(const platform::CgroupQuota& quota, std::optional<unsigned> online) {
  const double throttled = quota.periods && quota.throttled && *quota.periods > 0
                               ? Share(*quota.throttled, *quota.periods)
                               : 0.0;
  const bool less = online && quota.cpus < static_cast<double>(*online);
  return {.id = Id::kCgroupCpu,
          .severity = less && throttled >= 0.05 ? Severity::kWarning
                      : less                    ? Severity::kNote
                                                : Severity::kFine,
          .observed = fmt::format(
              "the control group is limited to {:.3g} CPUs{}{}", quota.cpus,
              online ? fmt::format(" of the {} that programs see", *online) : "",
              throttled > 0
                  ? fmt::format(", and was throttled in {:.0f} % of the periods", 100 * throttled)
                  : ""),
          .limit = fmt::format("{:.3g} CPUs in {}", quota.cpus, quota.folder),
          .why =
              "libraries start a thread per visible CPU; all of them then stall for the rest of "
              "each period",
          .fix = fmt::format("OMP_NUM_THREADS={}, and as many workers; or a larger quota (docker "
                             "run --cpus, CPUQuota=)",
                             std::max(1, static_cast<int>(quota.cpus)))};
}

constexpr double kMaxUnused = 0.1;
// Smaller processes are not worth a note.
constexpr Bytes kMinResident = kGiB;

// Preallocated but unused pages.
std::optional<Finding> Aside(const platform::CommitState& memory) {
  if (!memory.reserved_free || !memory.total || !memory.huge_page_size) return std::nullopt;
  const auto part = static_cast<double>(*memory.reserved_free) / static_cast<double>(*memory.total);
  if (part < kMaxUnused) return std::nullopt;
  return MakeFinding(
      Id::kHugePages, Severity::kWarning,
      fmt::format("{} are preallocated in unused huge pages", FormatBytes(*memory.reserved_free)),
      fmt::format("{} of memory in all", FormatBytes(*memory.total)),
      "only programs that use hugetlbfs get them; all others run out of memory that much earlier, "
      "although it is free",
      "sudo sysctl vm.nr_hugepages=0, or the number in use (HugePages_Total minus HugePages_Free "
      "in /proc/meminfo)");
}

// The mode of transparent huge pages.
Finding Transparent(const platform::KernelLimits& kernel, const platform::CommitState& memory) {
  const std::string& mode = *kernel.huge_pages;
  Finding finding = Fine(Id::kHugePages, "transparent huge pages: " + mode);
  if (kernel.huge_page_wait) finding.observed += ", defrag: " + *kernel.huge_page_wait;
  if (memory.huge_pages) finding.observed += "; " + FormatBytes(*memory.huge_pages) + " in use";
  if (mode == "always" && kernel.huge_page_wait == "always") {
    return finding.Raise(
        Severity::kNote,
        "an allocation may stall while the kernel compacts memory for a huge page; sparse heaps "
        "and many stacks hold more memory than they use",
        "echo defer+madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag");
  }
  if (mode == "always") {
    return finding.Raise(Severity::kNote,
                         "sparse heaps and many stacks may hold more memory than they use",
                         "nothing while memory suffices; else: echo madvise | sudo tee "
                         "/sys/kernel/mm/transparent_hugepage/enabled");
  }
  if (mode == "never") {
    return finding.Raise(Severity::kNote,
                         "large arrays need many 4 KiB pages; pinning host memory for a GPU, "
                         "and so swapping by Reveza, takes several times as long",
                         "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
  }
  return finding;
}

std::optional<Finding> OfProcess(const ProcessView& process, const std::filesystem::path& root) {
  if (process.use.huge_pages_allowed == false) {
    return MakeFinding(Id::kHugePages, Severity::kNote,
                       fmt::format("{} cannot use transparent huge pages", DisplayName(process)),
                       "prctl(PR_SET_THP_DISABLE), which children inherit",
                       "large arrays need many 4 KiB pages, whatever the machine's setting",
                       "find what sets it: the program, a wrapper, or the container runtime");
  }
  const platform::ProcessPages pages = platform::ReadProcessPages(process.pid, root);
  if (!pages.resident || !pages.huge) return std::nullopt;
  const bool most = *pages.resident >= kMinResident && *pages.huge * 2 >= *pages.resident;
  return MakeFinding(
      Id::kHugePages, most ? Severity::kNote : Severity::kFine,
      fmt::format("{} has {} of its {} in transparent huge pages", DisplayName(process),
                  FormatBytes(*pages.huge), FormatBytes(*pages.resident)),
      "",
      most ? "touching a page takes all of it: a sparse heap holds up to 512 times what it uses"
           : "",
      most ? "nothing while memory suffices; else MALLOC_ARENA_MAX=2, or "
             "GLIBC_TUNABLES=glibc.malloc.hugetlb=0 where the allocator asks for them"
           : "");
}

struct Resource {
  const char* name;
  double warn;   // percent of the last minute
  double fatal;  // over 100: never
  bool all;      // judge the time in which all waited
  const char* why;
  const char* fix;
};

constexpr Resource kCpu = {
    "CPU", 60, 101, false, "more workers would only wait longer", "fewer workers or threads"};
constexpr Resource kMemory = {"memory",
                              5,
                              40,
                              true,
                              "the machine is thrashing, and the OOM killer may run soon",
                              "fewer workers; reveza jobs run starts no steps under pressure"};
constexpr Resource kStorage = {"storage",
                               40,
                               101,
                               true,
                               "tasks wait for the disk; more workers would wait too",
                               "write less often or into memory (/dev/shm), or fewer workers"};

void Diagnose(const char* whose, const std::optional<platform::Pressure>& pressure,
              const Resource& resource, Findings& findings) {
  if (!pressure) return;
  const bool all = resource.all && pressure->full;
  const platform::PressureLine& line = all ? *pressure->full : pressure->some;
  const double part = line.average_60s;
  Finding& finding = findings.emplace_back(
      Fine(Id::kPressure,
           fmt::format(
               "{}: {} stalled on {} for {:.1f} % of the last minute ({:.1f} % of the last 10 s)",
               whose, all ? "all tasks" : "some task", resource.name, part, line.average_10s)));
  if (part < resource.warn) return;
  finding.limit = fmt::format("{:.0f} %", resource.warn);
  finding.Raise(part >= resource.fatal ? Severity::kFatal : Severity::kWarning, resource.why,
                resource.fix);
}

}  // namespace

Findings CheckMemory(const Subject& subject) {
  Findings findings;
  const platform::CommitState memory = platform::ReadCommitState(subject.root);
  const platform::KernelLimits kernel = platform::ReadKernelLimits(subject.root);
  if (kernel.overcommit) findings.push_back(Overcommit(memory, *kernel.overcommit));
  if (memory.swap_total) findings.push_back(Swap(memory));
  if (const auto pinned = Pinned(memory)) findings.push_back(*pinned);
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
    Finding& finding = findings.emplace_back(
        Fine(Id::kCpuset, fmt::format("{} of {} CPUs are allowed", *allowed, *cores.online),
             fmt::format("{} CPUs (affinity or cpuset)", *allowed)));
    if (*allowed < *cores.online) {
      finding.Raise(Severity::kNote,
                    "programs that count the machine's CPUs start too many threads",
                    fmt::format("OMP_NUM_THREADS={}; taskset -c 0-{} undoes an affinity", *allowed,
                                *cores.online - 1));
    }
  }
  return findings;
}

Findings CheckHugePages(const Subject& subject) {
  Findings findings;
  const platform::CommitState memory = platform::ReadCommitState(subject.root);
  const platform::KernelLimits kernel = platform::ReadKernelLimits(subject.root);
  if (auto aside = Aside(memory)) findings.push_back(*std::move(aside));
  if (kernel.huge_pages) findings.push_back(Transparent(kernel, memory));
  // The processes of a finished command are gone.
  if (subject.pid == 0 || subject.seen) return findings;
  for (const ProcessView& process : Processes(subject)) {
    if (auto finding = OfProcess(process, subject.root)) findings.push_back(*std::move(finding));
  }
  return findings;
}

Findings CheckPressure(const Subject& subject) {
  Findings findings;
  const platform::Pressures machine = platform::MachinePressure(subject.root);
  const platform::Pressures group = platform::CgroupPressure(subject.pid, subject.root);
  for (const auto& [whose, pressures] :
       {std::pair{"the machine", &machine}, {"the control group", &group}}) {
    Diagnose(whose, pressures->memory, kMemory, findings);
    Diagnose(whose, pressures->cpu, kCpu, findings);
    Diagnose(whose, pressures->io, kStorage, findings);
  }
  if (findings.empty()) {
    findings.push_back({.id = Id::kPressure,
                        .severity = Severity::kNote,
                        .observed = "the kernel does not report pressure",
                        .why = "stalls on memory, CPU and I/O cannot be detected",
                        .fix = "boot with psi=1"});
  }
  return findings;
}

}  // namespace reveza::doctor
