#include "tracer.h"

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

pid_t StartTraced(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
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

Traced Tracer::Run(std::vector<std::string> words, const KillPlan& plan) {
  plan_ = plan;
  traced_ = {};
  roles_.clear();
  unborn_.clear();
  awaited_.clear();
  const pid_t runner = StartTraced(std::move(words));
  int status = 0;
  waitpid(runner, &status, __WALL);
  ptrace(PTRACE_SETOPTIONS, runner, nullptr,
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
             PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
  roles_[runner] = Role::kRunner;
  GoOn(runner);
  while (!roles_.empty() || !unborn_.empty()) {
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) break;
    if (WIFSTOPPED(status)) {
      Handle(pid, status);
      continue;
    }
    if (pid == runner) traced_.status = status;
    roles_.erase(pid);
    unborn_.erase(pid);
    awaited_.erase(pid);
  }
  return traced_;
}

void Tracer::GoOn(pid_t pid, int signal) {
  // After the kill there is nothing to count any more.
  ptrace(traced_.killed ? PTRACE_CONT : PTRACE_SYSCALL, pid, nullptr, signal);
}

void Tracer::Handle(pid_t pid, int status) {
  if (!roles_.contains(pid)) {
    // Whose child it is says its parent, unless that is dead.
    if (traced_.killed) {
      roles_[pid] = Role::kStep;
      return GoOn(pid);
    }
    unborn_.insert(pid);
    return;
  }
  const int signal = WSTOPSIG(status);
  if (signal == kSystemCall) {
    CountAndKill(pid);
    return GoOn(pid);
  }
  if (const int event = status >> 16; event != 0) {
    HandleEvent(pid, event);
    return GoOn(pid);
  }
  // Every traced child begins with a stop that nobody has asked for.
  if (signal == SIGSTOP && awaited_.erase(pid) > 0) return GoOn(pid);
  GoOn(pid, signal);
}

void Tracer::HandleEvent(pid_t pid, int event) {
  if (event == PTRACE_EVENT_EXEC) return;
  unsigned long message = 0;
  if (ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &message) != 0) return;
  const auto child = static_cast<pid_t>(message);
  auto& births = traced_.births.at(static_cast<std::size_t>(roles_[pid]));
  if (event == PTRACE_EVENT_FORK) ++births.copied;
  if (event == PTRACE_EVENT_VFORK) ++births.lent;
  const bool thread = event == PTRACE_EVENT_CLONE;
  roles_[child] = thread || roles_[pid] == Role::kStep ? roles_[pid]
                  : roles_[pid] == Role::kRunner       ? Role::kSupervisor
                                                       : Role::kStep;
  if (unborn_.erase(child) > 0) return GoOn(child);
  awaited_.insert(child);
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
  for (const pid_t pid : std::exchange(unborn_, {})) {
    roles_[pid] = Role::kStep;
    GoOn(pid);
  }
}

}  // namespace reveza::testing
