#include "doctor/death.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/units.h"
#include "platform/cgroup.h"
#include "platform/machine.h"

namespace reveza::doctor {
namespace {

// Memory is asked for in pieces, so what was used last may be well below the limit.
constexpr double kNearly = 0.8;

bool Near(std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit) {
  return used && limit && static_cast<double>(*used) >= kNearly * static_cast<double>(*limit);
}

bool Says(const Death& death, std::string_view text) {
  return death.last_lines.find(text) != std::string::npos;
}

bool WasKilled(const Death& death) {
  return death.signal == SIGKILL || death.exit_status == 128 + SIGKILL;
}

std::string HowItEnded(const Death& death) {
  if (death.signal) return fmt::format("ended by signal {}", *death.signal);
  if (death.exit_status) return fmt::format("ended with status {}", *death.exit_status);
  return "ended";
}

// A limit that may have been the reason.
struct Cause {
  Id id;
  bool possible = false;  // the limit is there
  bool reached = false;   // and was seen nearly used up
  std::string observed;
  std::string limit;
  const char* fix;
};

std::string Used(std::optional<std::uint64_t> used) {
  return used ? fmt::format(", {} of it seen in use", FormatBytes(*used)) : "";
}

std::array<Cause, 4> CausesOfNoMemory(const Death& death, const std::filesystem::path& root) {
  const platform::KernelLimits kernel = platform::ReadKernelLimits(root);
  const platform::CommitState commit = platform::ReadCommitState(root);
  const auto address = death.limits ? death.limits->address_space.soft : std::nullopt;
  const auto data = death.limits ? death.limits->data.soft : std::nullopt;
  const auto space = death.use.address_peak ? death.use.address_peak : death.use.address_space;
  const bool many_maps = Near(death.maps, kernel.max_map_count);
  // Where nothing else can refuse a little memory, only that is left.
  const bool nothing_else = death.limits && !address && !data && kernel.overcommit &&
                            *kernel.overcommit != 2 && kernel.max_map_count;
  return {{
      {Id::kAddressSpace, address.has_value(), Near(space, address),
       fmt::format("its address space was limited{}", Used(space)),
       address ? fmt::format("RLIMIT_AS = {}", FormatBytes(*address)) : "",
       "take the limit away: resource.RLIMIT_AS, or ulimit -v, in the script that starts it; to "
       "bound memory use memory.max of a control group. Smaller stacks (GOMP_STACKSIZE) only "
       "move the day"},
      {Id::kDataLimit, data.has_value(), Near(death.use.data, data),
       fmt::format("its private memory was limited{}", Used(death.use.data)),
       data ? fmt::format("RLIMIT_DATA = {}", FormatBytes(*data)) : "",
       "ulimit -d unlimited; to bound memory use memory.max of a control group"},
      {Id::kMapCount, many_maps || nothing_else, many_maps,
       many_maps ? fmt::format("it had {} mappings", *death.maps)
                 : "no other limit was set, so it had too many mappings, or the machine no memory",
       kernel.max_map_count ? fmt::format("vm.max_map_count = {}", *kernel.max_map_count) : "",
       "sudo sysctl vm.max_map_count=1048576, or fewer threads"},
      {Id::kOvercommit, kernel.overcommit == 2,
       kernel.overcommit == 2 && Near(commit.committed, commit.commit_limit),
       "the kernel promises no more memory than it has (vm.overcommit_memory is 2)",
       commit.commit_limit ? fmt::format("CommitLimit = {}", FormatBytes(*commit.commit_limit))
                           : "",
       "sudo sysctl vm.overcommit_memory=0; or more swap, or a larger vm.overcommit_ratio"},
  }};
}

Finding ThreadLocalData(const Death& death, const std::filesystem::path& root) {
  Finding finding{
      .id = Id::kThreadLocalData,
      .severity = Severity::kFatal,
      .sure = Sureness::kLikely,
      .observed = fmt::format("{} {}: \"cannot allocate memory for thread-local data\"",
                              death.command, HowItEnded(death)),
      .limit = "",
      .why =
          "a thread used a library for the first time, and malloc found no room for the "
          "library's variables; the machine may have memory enough",
      .fix =
          "reveza doctor -- COMMAND, to see which limit it meets: RLIMIT_AS, RLIMIT_DATA, "
          "vm.max_map_count or vm.overcommit_memory=2"};
  const auto causes = CausesOfNoMemory(death, root);
  const Cause* cause = std::ranges::find_if(causes, &Cause::reached);
  if (cause == causes.end()) cause = std::ranges::find_if(causes, &Cause::possible);
  if (cause == causes.end()) return finding;
  finding.sure = cause->reached ? Sureness::kMeasured : Sureness::kLikely;
  finding.observed += fmt::format("; the cause: {} ({})", cause->observed, IdName(cause->id));
  finding.limit = cause->limit;
  finding.fix = cause->fix;
  return finding;
}

Finding OutOfMemory(const Death& death, std::uint64_t kills, const std::filesystem::path& root) {
  const auto memory = death.memory ? death.memory : platform::ReadCgroupMemory(0, root);
  return {.id = Id::kOutOfMemoryKill,
          .severity = Severity::kFatal,
          .sure = Sureness::kMeasured,
          .observed = fmt::format("{} {}, and the kernel killed {} process{} of its control group "
                                  "for memory meanwhile",
                                  death.command, HowItEnded(death), kills, kills == 1 ? "" : "es"),
          .limit = memory ? fmt::format("{} in {}", FormatBytes(memory->limit), memory->folder)
                          : std::string(),
          .why = "the group's memory was used up; the kernel chose this process",
          .fix =
              "a larger limit (docker run --memory, MemoryMax=), fewer workers at once, or less "
              "memory in each"};
}

// pthread_create and fork say EAGAIN for all of these.
Finding NoThread(const Death& death, const std::filesystem::path& root) {
  Finding finding{.id = Id::kThreadCeiling,
                  .severity = Severity::kFatal,
                  .sure = Sureness::kLikely,
                  .observed = fmt::format("{} {}: it could start no further thread or process",
                                          death.command, HowItEnded(death)),
                  .limit = "",
                  .why = "the kernel, or the C library for a thread's stack, said EAGAIN",
                  .fix = "fewer threads: OMP_NUM_THREADS; see reveza doctor -v for the limits"};
  const auto tasks = death.tasks ? death.tasks : platform::ReadCgroupTasks(0, root);
  if (tasks && (Near(tasks->used, tasks->limit) || Near(death.use.threads, tasks->limit))) {
    finding.id = Id::kCgroupPids;
    finding.limit = fmt::format("pids.max = {} in {}", tasks->limit, tasks->folder);
    finding.fix = "docker run --pids-limit=-1, TasksMax=infinity, or fewer threads";
  } else if (death.limits && death.limits->address_space.soft) {
    finding.id = Id::kAddressSpace;
    finding.limit = fmt::format("RLIMIT_AS = {}", FormatBytes(*death.limits->address_space.soft));
    finding.fix =
        "take the limit on address space away (ulimit -v, resource.RLIMIT_AS): each "
        "thread reserves its whole stack";
  } else if (death.limits && death.limits->processes.soft) {
    finding.id = Id::kProcessLimit;
    finding.limit = fmt::format("RLIMIT_NPROC = {}", *death.limits->processes.soft);
    finding.fix = "ulimit -u $(ulimit -Hu), or fewer threads";
  }
  return finding;
}

}  // namespace

std::optional<Finding> ExplainDeath(const Death& death, const std::filesystem::path& root) {
  if (Says(death, "cannot allocate memory for thread-local data")) {
    return ThreadLocalData(death, root);
  }
  if (WasKilled(death) && death.kills_before && death.kills_after &&
      *death.kills_after > *death.kills_before) {
    return OutOfMemory(death, *death.kills_after - *death.kills_before, root);
  }
  const bool failed = death.signal || death.exit_status.value_or(0) != 0;
  for (const char* text : {"Resource temporarily unavailable", "can't start new thread",
                           "Thread creation failed", "pthread_create failed"}) {
    if (failed && Says(death, text)) return NoThread(death, root);
  }
  return std::nullopt;
}

}  // namespace reveza::doctor
