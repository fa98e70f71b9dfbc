#include "reveza/insight/doctor/termination.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/units.h"
#include "common/platform/cgroup.h"
#include "common/platform/machine.h"
#include "reveza/insight/doctor/limit_fix.h"

namespace reveza::doctor {
namespace {

// Memory is requested in large pieces, so the last usage may be well below the limit.
constexpr double kNearLimit = 0.8;

bool NearLimit(std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit) {
  return used && limit && static_cast<double>(*used) >= kNearLimit * static_cast<double>(*limit);
}

bool Says(const Termination& termination, std::string_view text) {
  return termination.last_lines.find(text) != std::string::npos;
}

// Whether the last output has an error by which programs report that memory could not be allocated.
bool SaysNoMemory(const Termination& termination) {
  const std::string_view text = termination.last_lines;
  constexpr std::string_view kPython = "MemoryError";
  for (std::size_t at = text.find(kPython); at != text.npos; at = text.find(kPython, at + 1)) {
    // OutOfMemoryError: of a GPU, or of Java's heap.
    if (!text.substr(0, at).ends_with("OutOf")) return true;
  }
  return std::ranges::any_of(
      std::array{"std::bad_alloc", "annot allocate memory", "failed to map segment from shared",
                 "virtual memory exhausted", "ould not reserve enough space"},
      [&](const char* message) { return text.contains(message); });
}

// Returns whether a line names a call that starts a thread or process.
bool NamesStart(std::string line) {
  std::ranges::transform(line, line.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(std::array{"fork", "clone", "spawn", "pthread"},
                             [&](const char* word) { return line.contains(word); });
}

// Returns whether what comes before an error is about a thread: "Cannot create thread: ". A panic
// of Rust names the thread that it is in, and others prefix their messages with it.
bool IsAboutThread(std::string line) {
  std::ranges::transform(line, line.begin(), [](unsigned char c) { return std::tolower(c); });
  if (line.ends_with(": ")) line.resize(line.size() - 2);
  const std::size_t last = line.rfind(": ");
  return line.find("thread", last == line.npos ? 0 : last) != line.npos &&
         !line.contains("panicked");
}

// Returns the code that raised an exception of Python, below the last "File" of the traceback.
std::string InnermostCode(std::string_view text) {
  const std::size_t file = text.rfind("  File \"");
  const std::size_t code = file == text.npos ? file : text.find('\n', file);
  return code == text.npos ? "" : std::string(text.substr(code));
}

// Whether the last output says that a thread or process could not be started. EAGAIN alone does
// not: a socket that does not block says the same.
bool SaysNoThread(const Termination& termination) {
  for (const char* text :
       {"can't start new thread", "Thread creation failed", "pthread_create failed"}) {
    if (Says(termination, text)) return true;
  }
  constexpr std::string_view kAgain = "Resource temporarily unavailable";
  const std::string_view text = termination.last_lines;
  for (std::size_t at = text.find(kAgain); at != text.npos; at = text.find(kAgain, at + 1)) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    const std::string_view line = text.substr(begin, at - begin);
    if (line.starts_with("BlockingIOError")) {
      if (NamesStart(InnermostCode(text.substr(0, begin)))) return true;
      continue;
    }
    // What std::thread says, and the runtime of Intel's and LLVM's OpenMP.
    if (line == "  what():  " || line.starts_with("OMP: System error")) return true;
    if (NamesStart(std::string(line)) || IsAboutThread(std::string(line))) return true;
  }
  return false;
}

bool WasKilled(const Termination& termination) {
  return termination.signal == SIGKILL || termination.exit_status == 128 + SIGKILL;
}

std::string ExitText(const Termination& termination) {
  if (termination.signal) return fmt::format("ended by signal {}", *termination.signal);
  if (termination.exit_status) return fmt::format("ended with status {}", *termination.exit_status);
  return "ended";
}

// Returns how many tasks pids.max refused meanwhile; 0 if it is unknown.
std::uint64_t Refusals(const Termination& termination) {
  if (!termination.refusals_before || !termination.refusals_after) return 0;
  return *termination.refusals_after -
         std::min(*termination.refusals_before, *termination.refusals_after);
}

// A limit that may have caused the failure.
struct Cause {
  Id id;
  bool possible = false;  // the limit is set
  bool reached = false;   // and was nearly reached
  std::string observed;
  std::string limit;
  std::string fix;
};

std::string Used(std::optional<std::uint64_t> used) {
  return used ? fmt::format(", {} of it in use", FormatBytes(*used)) : "";
}

std::array<Cause, 4> CausesOfNoMemory(const Termination& termination,
                                      const std::filesystem::path& root) {
  const platform::KernelLimits kernel = platform::ReadKernelLimits(root);
  const platform::CommitState commit = platform::ReadCommitState(root);
  const auto address = termination.limits ? termination.limits->address_space.soft : std::nullopt;
  const auto data = termination.limits ? termination.limits->data.soft : std::nullopt;
  const auto space =
      termination.use.address_peak ? termination.use.address_peak : termination.use.address_space;
  const bool many_maps = NearLimit(termination.maps, kernel.max_map_count);
  // Without any other limit on small allocations, only the number of mappings remains.
  const bool nothing_else = termination.limits && !address && !data && kernel.overcommit &&
                            *kernel.overcommit != 2 && kernel.max_map_count;
  return {{
      {Id::kAddressSpace, address.has_value(), NearLimit(space, address),
       fmt::format("its address space was limited{}", Used(space)),
       address ? fmt::format("RLIMIT_AS = {}", FormatBytes(*address)) : "",
       "remove the limit: resource.RLIMIT_AS, or ulimit -v, in the script that starts it; to bound "
       "memory use memory.max of a control group. Smaller stacks (GOMP_STACKSIZE) only delay the "
       "failure"},
      {Id::kDataLimit, data.has_value(), NearLimit(termination.use.data, data),
       fmt::format("its private memory was limited{}", Used(termination.use.data)),
       data ? fmt::format("RLIMIT_DATA = {}", FormatBytes(*data)) : "",
       data ? HowToRaise("-d", "data", termination.limits->data) : ""},
      {Id::kMapCount, many_maps || nothing_else, many_maps,
       many_maps ? fmt::format("it had {} mappings", *termination.maps)
                 : "no other limit was set: too many mappings, or the machine was out of memory",
       kernel.max_map_count ? fmt::format("vm.max_map_count = {}", *kernel.max_map_count) : "",
       HowToRaiseMapCount(kernel.max_map_count.value_or(0))},
      {Id::kOvercommit, kernel.overcommit == 2,
       kernel.overcommit == 2 && NearLimit(commit.committed, commit.commit_limit),
       "the kernel commits no more memory than it has (vm.overcommit_memory is 2)",
       commit.commit_limit ? fmt::format("CommitLimit = {}", FormatBytes(*commit.commit_limit))
                           : "",
       "sudo sysctl vm.overcommit_memory=0; or more swap, or a larger vm.overcommit_ratio"},
  }};
}

Finding ThreadLocalData(const Termination& termination, const std::filesystem::path& root) {
  Finding finding{
      .id = Id::kThreadLocalData,
      .severity = Severity::kFatal,
      .confidence = Confidence::kLikely,
      .observed = fmt::format("{} {}: \"cannot allocate memory for thread-local data\"",
                              termination.command, ExitText(termination)),
      .why =
          "a thread used a library for the first time, and malloc() could not allocate the "
          "library's thread-local variables, although the machine may have enough memory",
      .fix =
          "run reveza doctor -- COMMAND to see which limit it reaches: RLIMIT_AS, RLIMIT_DATA, "
          "vm.max_map_count or vm.overcommit_memory=2"};
  const auto causes = CausesOfNoMemory(termination, root);
  const Cause* cause = std::ranges::find_if(causes, &Cause::reached);
  if (cause == causes.end()) cause = std::ranges::find_if(causes, &Cause::possible);
  if (cause == causes.end()) return finding;
  finding.cause = cause->id;
  finding.confidence = cause->reached ? Confidence::kMeasured : Confidence::kLikely;
  finding.observed += fmt::format("; the cause: {} ({})", cause->observed, IdName(cause->id));
  finding.limit = cause->limit;
  finding.fix = cause->fix;
  return finding;
}

Finding OutOfMemory(const Termination& termination, std::uint64_t kills,
                    const std::filesystem::path& root) {
  const auto memory = termination.memory ? termination.memory : platform::ReadCgroupMemory(0, root);
  return {.id = Id::kOutOfMemoryKill,
          .severity = Severity::kFatal,
          .confidence = Confidence::kMeasured,
          .observed = fmt::format(
              "{} {}, and the OOM killer killed {} process{} of its control group meanwhile",
              termination.command, ExitText(termination), kills, kills == 1 ? "" : "es"),
          .limit = memory ? fmt::format("{} in {}", FormatBytes(memory->limit), memory->folder)
                          : std::string(),
          .why = "the group's memory was exhausted; the kernel chose this process",
          .fix =
              "a larger limit (docker run --memory, MemoryMax=), fewer workers at once, or less "
              "memory in each",
          .cause = Id::kCgroupMemory};
}

// An allocation failed; nullopt if no limit explains it.
std::optional<Finding> NoMemory(const Termination& termination, const std::filesystem::path& root) {
  const auto causes = CausesOfNoMemory(termination, root);
  const Cause* cause = std::ranges::find_if(causes, &Cause::reached);
  if (cause == causes.end()) {
    // The number of mappings is a guess, and many more mappings than memory are needed to meet it.
    cause = std::ranges::find_if(
        causes, [](const Cause& one) { return one.possible && one.id != Id::kMapCount; });
  }
  if (cause == causes.end()) return std::nullopt;
  return Finding{
      .id = cause->id,
      .severity = Severity::kFatal,
      .confidence = cause->reached ? Confidence::kMeasured : Confidence::kLikely,
      .observed = fmt::format("{} {}: memory could not be allocated; {}", termination.command,
                              ExitText(termination), cause->observed),
      .limit = cause->limit,
      .why = "an allocation beyond the limit fails (ENOMEM), although the machine may have memory",
      .fix = cause->fix};
}

Finding NoFile(const Termination& termination, const platform::Limit& limit) {
  return {
      .id = Id::kOpenFiles,
      .severity = Severity::kFatal,
      .confidence = Confidence::kRead,
      .observed = fmt::format("{} {}: it could open no further file", termination.command,
                              ExitText(termination)),
      .limit = fmt::format("RLIMIT_NOFILE = {}", *limit.soft),
      .why = "each open file, pipe and socket takes a descriptor; the next open fails with EMFILE",
      .fix = HowToRaise("-n", "nofile", limit)};
}

// Whether RLIMIT_NPROC may have refused a thread or process. What is started here has the rights of
// this process, unless it was seen with others.
bool ProcessLimitBinds(const Termination& termination, const std::filesystem::path& root) {
  if (!termination.limits || !termination.limits->processes.soft) return false;
  const auto seen = termination.use.exempt_from_process_limit;
  const auto exempt = seen ? seen : platform::ReadProcessUse(0, root).exempt_from_process_limit;
  return !exempt.value_or(false);
}

// Whether RLIMIT_NPROC is met before RLIMIT_AS, both of which are set: it was nearly reached, or so
// many threads have room in the address space.
bool ProcessLimitComesFirst(const Termination& termination) {
  // The GNU C library reserves so much for a thread's malloc(), and so much for a stack without
  // a limit.
  constexpr std::uint64_t kArena = 64 * kMiB;
  constexpr std::uint64_t kStack = 2 * kMiB;
  const std::uint64_t threads = *termination.limits->processes.soft;
  if (NearLimit(termination.use.threads, threads)) return true;
  const std::uint64_t each = termination.limits->stack.soft.value_or(kStack) + kArena;
  return threads < *termination.limits->address_space.soft / each;
}

// pthread_create and fork say EAGAIN for all of these.
Finding NoThread(const Termination& termination, const std::filesystem::path& root) {
  Finding finding{.id = Id::kThreadCeiling,
                  .severity = Severity::kFatal,
                  .confidence = Confidence::kLikely,
                  .observed = fmt::format("{} {}: it could start no further thread or process",
                                          termination.command, ExitText(termination)),
                  .why = "the kernel, or the C library for a thread's stack, said EAGAIN",
                  .fix = "fewer threads: OMP_NUM_THREADS; see reveza doctor -v for the limits"};
  const auto tasks = termination.tasks ? termination.tasks : platform::ReadCgroupTasks(0, root);
  const std::uint64_t refusals = Refusals(termination);
  const bool process_limit = ProcessLimitBinds(termination, root);
  const auto address = termination.limits ? termination.limits->address_space.soft : std::nullopt;
  if (refusals > 0 || (tasks && (NearLimit(tasks->used, tasks->limit) ||
                                 NearLimit(termination.use.threads, tasks->limit)))) {
    finding.id = Id::kCgroupPids;
    if (refusals > 0) {
      finding.confidence = Confidence::kMeasured;
      finding.observed += fmt::format(", which its control group refused {} meanwhile",
                                      refusals == 1 ? "once" : fmt::format("{} times", refusals));
    }
    if (tasks) finding.limit = fmt::format("pids.max = {} in {}", tasks->limit, tasks->folder);
    finding.fix = "docker run --pids-limit=-1, TasksMax=infinity, or fewer threads";
  } else if (address && (NearLimit(termination.use.address_peak, address) || !process_limit ||
                         !ProcessLimitComesFirst(termination))) {
    finding.id = Id::kAddressSpace;
    finding.limit = fmt::format("RLIMIT_AS = {}", FormatBytes(*address));
    finding.fix =
        "take the limit on address space away (ulimit -v, resource.RLIMIT_AS): each thread "
        "reserves its whole stack";
  } else if (process_limit) {
    finding.id = Id::kProcessLimit;
    finding.limit = fmt::format("RLIMIT_NPROC = {}", *termination.limits->processes.soft);
    finding.fix = HowToRaise("-u", "nproc", termination.limits->processes) + "; or fewer threads";
  }
  return finding;
}

}  // namespace

std::optional<Finding> ExplainTermination(const Termination& termination,
                                          const std::filesystem::path& root) {
  if (Says(termination, "cannot allocate memory for thread-local data")) {
    return ThreadLocalData(termination, root);
  }
  if (WasKilled(termination) && termination.kills_before && termination.kills_after &&
      *termination.kills_after > *termination.kills_before) {
    return OutOfMemory(termination, *termination.kills_after - *termination.kills_before, root);
  }
  if (!termination.signal && termination.exit_status.value_or(0) == 0) return std::nullopt;
  if (SaysNoThread(termination)) return NoThread(termination, root);
  if (SaysNoMemory(termination)) {
    if (auto finding = NoMemory(termination, root)) return finding;
  }
  if (termination.limits && termination.limits->open_files.soft &&
      Says(termination, "Too many open files") && !Says(termination, "open files in system")) {
    return NoFile(termination, termination.limits->open_files);
  }
  // Not each program prints the error.
  if (Refusals(termination) > 0 && !WasKilled(termination)) return NoThread(termination, root);
  return std::nullopt;
}

}  // namespace reveza::doctor
