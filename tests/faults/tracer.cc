#include "tests/faults/tracer.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace reveza::testing {
namespace {

constexpr int kSystemCall = SIGTRAP | 0x80;

pid_t StartTraced(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  raise(SIGSTOP);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Tracer::Tracer(std::string supervisor, std::string step)
    : supervisor_(std::move(supervisor)), step_(std::move(step)) {}

TraceResult Tracer::Run(std::vector<std::string> command, const KillPlan& plan) {
  plan_ = plan;
  traced_ = {};
  roles_.clear();
  unclaimed_.clear();
  announced_.clear();
  const pid_t runner = StartTraced(std::move(command));
  int status = 0;
  waitpid(runner, &status, __WALL);
  ptrace(PTRACE_SETOPTIONS, runner, nullptr,
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
             PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
  roles_[runner] = Role::kRunner;
  Resume(runner);
  while (!roles_.empty() || !unclaimed_.empty()) {
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) break;
    if (WIFSTOPPED(status)) {
      Handle(pid, status);
      continue;
    }
    if (pid == runner) traced_.status = status;
    roles_.erase(pid);
    unclaimed_.erase(pid);
    announced_.erase(pid);
  }
  return traced_;
}

void Tracer::Resume(pid_t pid, int signal) {
  // No system calls are counted after the kill.
  ptrace(traced_.killed ? PTRACE_CONT : PTRACE_SYSCALL, pid, nullptr, signal);
}

void Tracer::Handle(pid_t pid, int status) {
  if (!roles_.contains(pid)) {
    // The parent's event gives the role, unless the parent was killed.
    if (traced_.killed) {
      roles_[pid] = Role::kStep;
      return Resume(pid);
    }
    unclaimed_.insert(pid);
    return;
  }
  const int signal = WSTOPSIG(status);
  if (signal == kSystemCall) {
    CountAndKill(pid);
    return Resume(pid);
  }
  if (const int event = status >> 16; event != 0) {
    HandleEvent(pid, event);
    return Resume(pid);
  }
  // Every traced child starts with a SIGSTOP from the kernel.
  if (signal == SIGSTOP && announced_.erase(pid) > 0) return Resume(pid);
  Resume(pid, signal);
}

void Tracer::HandleEvent(pid_t pid, int event) {
  if (event == PTRACE_EVENT_EXEC) return;
  unsigned long message = 0;
  if (ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &message) != 0) return;
  const auto child = static_cast<pid_t>(message);
  auto& creations = traced_.creations.at(static_cast<std::size_t>(roles_[pid]));
  if (event == PTRACE_EVENT_FORK) ++creations.forks;
  if (event == PTRACE_EVENT_VFORK) ++creations.vforks;
  const bool thread = event == PTRACE_EVENT_CLONE;
  roles_[child] = thread || roles_[pid] == Role::kStep ? roles_[pid]
                  : roles_[pid] == Role::kRunner       ? Role::kSupervisor
                                                       : Role::kStep;
  if (unclaimed_.erase(child) > 0) return Resume(child);
  announced_.insert(child);
}

void Tracer::CountAndKill(pid_t pid) {
  if (traced_.killed) return;
  const Role role = roles_[pid];
  auto& stops = traced_.stops.at(static_cast<std::size_t>(role));
  ++stops;
  if (role == plan_.at && stops == plan_.nth) Kill(pid);
}

void Tracer::Kill(pid_t stopped) {
  traced_.killed = true;
  for (const auto& [pid, role] : roles_) {
    const bool chosen = role == plan_.at ? pid == stopped : true;
    const bool all = plan_.victims.size() == kRoles;
    if (plan_.victims.contains(role) && (chosen || all)) kill(pid, SIGKILL);
  }
  for (const pid_t pid : std::exchange(unclaimed_, {})) {
    roles_[pid] = Role::kStep;
    Resume(pid);
  }
}

}  // namespace reveza::testing
