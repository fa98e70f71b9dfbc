#include "reveza/jobs/supervisor/child.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "common/base/exec_arguments.h"
#include "common/platform/process_tree.h"

namespace reveza::jobs {
namespace {

// Signals that do nothing to the supervisor itself. A shell before it may ignore them.
constexpr int kDisregarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

// Everything the child needs. Prepared by the parent, as the child shares its memory and must not
// allocate.
struct SpawnPlan {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* folder = nullptr;
  ChildDescriptors descriptors;
  const cpu_set_t* processors = nullptr;
  int group_members = -1;  // cgroup.procs of a version 1 group, else -1
};

// Written by the child before it execs or exits, in memory shared with the parent.
struct ChildReport {
  int error = 0;
  int group_error = 0;
};

int ExecProgram(const SpawnPlan& plan, volatile ChildReport& report) {
  setsid();
  if (plan.group_members >= 0 && write(plan.group_members, "0", 1) != 1) report.group_error = errno;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(plan.descriptors.output, STDOUT_FILENO) < 0 ||
      dup2(plan.descriptors.errors, STDERR_FILENO) < 0) {
    return errno;
  }
  if (chdir(plan.folder) != 0) return errno;
  // Ignore errors: cores may have gone offline.
  if (plan.processors != nullptr) sched_setaffinity(0, sizeof(cpu_set_t), plan.processors);
  execve(plan.program, plan.arguments, plan.environment);
  return errno;
}

Child SpawnWithVfork(const SpawnPlan& plan) {
  // The parent resumes after the child has execed or exited.
  volatile ChildReport report{};
  // posix_spawn can neither set the affinity nor tell which step failed.
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions)
  if (pid == 0) {
    // Only system calls here; nothing but the report may be modified.
    report.error = ExecProgram(plan, report);  // NOLINT(clang-analyzer-unix.Vfork)
    _exit(127);
  }
  if (pid < 0) return Child{0, errno, 0};
  return Child{report.error == 0 ? pid : 0, report.error, report.group_error, true};
}

// Starts the child in a version 2 group. Unlike vfork it copies the parent's memory, as libc cannot
// combine CLONE_VM with another control group. The parent resumes after exec.
Child SpawnIntoGroup(const SpawnPlan& plan, int folder) {
  void* page =
      mmap(nullptr, sizeof(ChildReport), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Child{0, errno, 0};
  volatile ChildReport& report = *new (page) ChildReport;
  clone_args arguments{};
  arguments.flags = CLONE_VFORK | CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(folder);
  const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
  const int not_cloned = errno;
  if (pid == 0) {
    report.error = ExecProgram(plan, report);
    _exit(127);
  }
  const Child child{pid > 0 && report.error == 0 ? pid : 0, report.error, pid < 0 ? not_cloned : 0,
                    pid > 0};
  munmap(page, sizeof(ChildReport));
  return child;
}

// The signals that the supervisor reads.
sigset_t OwnSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

bool IsTemporaryError(const Child& child) {
  switch (child.error) {
    case EAGAIN:
    case EMFILE:
    case ENFILE:
      return true;
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      // After fork, ENOMEM comes from the program's own limits.
      return !child.forked;
    case ETXTBSY:
      return child.forked;
    default:
      return false;
  }
}

bool IsExecutable(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string_view SearchPathOf(const std::vector<std::string>& environment,
                              std::string_view otherwise) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string_view one : environment) {
    if (one.starts_with(kName)) return one.substr(kName.size());
  }
  return otherwise;
}

std::string FindInPath(std::string_view program, std::string_view folder,
                       std::string_view search_path) {
  for (;;) {
    const std::size_t end = search_path.find(':');
    const std::string_view entry = search_path.substr(0, end);
    std::string candidate;
    for (const std::string_view part : {entry.starts_with('/') ? "" : folder, entry, program}) {
      if (!candidate.empty() && !candidate.ends_with('/') && !part.empty()) candidate += '/';
      candidate += part;
    }
    if (!program.empty() && IsExecutable(candidate)) return candidate;
    if (end == std::string_view::npos) return {};
    search_path.remove_prefix(end + 1);
  }
}

const std::string& ProgramStarter::Find(const StartRequest& request,
                                        const std::vector<std::string>& inherited) {
  const std::string& name = request.arguments.front();
  remembered_ = false;
  if (name.contains('/')) return name;
  const std::string_view search_path = SearchPathOf(request.environment, SearchPathOf(inherited));
  const bool same = name == name_ && request.folder == folder_ && search_path == search_path_;
  remembered_ = same && !found_.empty();
  if (remembered_) return found_;
  name_ = name;
  folder_ = request.folder;
  search_path_ = search_path;
  found_ = FindInPath(name, folder_, search_path_);
  return found_;
}

Child StartChild(const std::string& program, const StartRequest& request,
                 const std::vector<std::string>& inherited, const ChildDescriptors& descriptors,
                 const StepGroup* group) {
  if (program.empty()) return Child{0, ENOENT, 0};
  const auto arguments = ExecArguments(request.arguments);
  const auto environment = ExecArguments(inherited, request.environment);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (const auto processor : request.processors) {
    if (processor < CPU_SETSIZE) CPU_SET(processor, &processors);
  }
  const SpawnPlan plan{program.c_str(),
                       arguments.data(),
                       environment.data(),
                       request.folder.c_str(),
                       descriptors,
                       request.processors.empty() ? nullptr : &processors,
                       group != nullptr ? group->members_descriptor() : -1};
  if (group == nullptr || group->folder_descriptor() < 0) return SpawnWithVfork(plan);
  const Child child = SpawnIntoGroup(plan, group->folder_descriptor());
  if (child.group_error == 0) return child;
  // Out of processes or memory: running without the group would fail as well.
  if (child.group_error == EAGAIN || child.group_error == ENOMEM) {
    return Child{0, child.group_error, 0};
  }
  // Otherwise run it outside the group.
  Child outside = SpawnWithVfork(plan);
  outside.group_error = child.group_error;
  return outside;
}

Child ProgramStarter::Start(const StartRequest& request, const std::vector<std::string>& inherited,
                            const ChildDescriptors& descriptors, const StepGroup* group) {
  Child child = StartChild(Find(request, inherited), request, inherited, descriptors, group);
  if (child.pid != 0 || !child.forked || !remembered_) return child;
  found_.clear();
  return StartChild(Find(request, inherited), request, inherited, descriptors, group);
}

void SignalDescendants(pid_t ancestor, int signal) {
  constexpr int kMaxRounds = 4;
  const UniqueFd proc(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<pid_t> signalled;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool found_new = false;
    const auto family =
        platform::CollectDescendants(ancestor, [&](pid_t parent, std::vector<pid_t>& children) {
          platform::AppendChildren(proc.get(), parent, children);
        });
    for (const pid_t pid : family) {
      if (pid == ancestor || std::ranges::find(signalled, pid) != signalled.end()) continue;
      kill(pid, signal);
      signalled.push_back(pid);
      found_new = true;
    }
    if (!found_new) return;
  }
}

ChildState QueryChildren() {
  siginfo_t info{};
  const int result = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
  return {result == 0 || errno != ECHILD, result == 0 && info.si_pid != 0};
}

UniqueFd ListenForSignals() {
  const sigset_t set = OwnSignals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void DisregardSignals() {
  struct sigaction nothing{};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  for (const int signal : kDisregarded) sigaction(signal, &nothing, nullptr);
  // If it were ignored, children could not be waited for.
  ::signal(SIGCHLD, SIG_DFL);
  const sigset_t own = OwnSignals();
  sigprocmask(SIG_SETMASK, &own, nullptr);
}

}  // namespace reveza::jobs
