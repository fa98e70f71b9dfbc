#include "runner/supervisor/child.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace reveza::runner {
namespace {

// Signals that the supervisor blocks or ignores, or that a shell may have ignored for it.
constexpr int kDefaultSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD};

std::string_view PathOf(const std::vector<std::string>& environment) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string_view one : environment) {
    if (one.starts_with(kName)) return one.substr(kName.size());
  }
  return "/usr/bin:/bin";
}

bool IsProgram(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// As execvp would find it, in the environment and the folder of the child. Empty: nowhere.
std::string FindProgram(const StartRequest& request) {
  const std::string& name = request.arguments.front();
  if (name.find('/') != std::string::npos) return name;
  std::string_view path = PathOf(request.environment);
  for (;;) {
    const std::size_t end = path.find(':');
    const std::string folder(path.substr(0, end));
    std::string program = folder.starts_with('/') ? "" : request.folder + "/";
    program.append(folder).append("/").append(name);
    if (IsProgram(program)) return program;
    if (end == std::string_view::npos) return {};
    path.remove_prefix(end + 1);
  }
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// All that the child needs, made before it: it shares this memory, and may call nothing that
// allocates.
struct Plan {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* folder = nullptr;
  int input = -1;
  ChildDescriptors descriptors;
  const cpu_set_t* processors = nullptr;
  int group_members = -1;  // the file to write to; -1: it is in its group, or has none
};

// What a child says to its parent before it is gone: memory that both see.
struct Note {
  int error = 0;
  int group_error = 0;
};

int BecomeProgram(const Plan& plan, volatile Note& note) {
  setsid();
  if (plan.group_members >= 0 && write(plan.group_members, "0", 1) != 1) note.group_error = errno;
  sigset_t none;
  sigemptyset(&none);
  for (const int signal : kDefaultSignals) ::signal(signal, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(plan.input, STDIN_FILENO) < 0 || dup2(plan.descriptors.output, STDOUT_FILENO) < 0 ||
      dup2(plan.descriptors.errors, STDERR_FILENO) < 0) {
    return errno;
  }
  if (chdir(plan.folder) != 0) return errno;
  // Cores that went away since are no reason not to run.
  if (plan.processors != nullptr) sched_setaffinity(0, sizeof(cpu_set_t), plan.processors);
  execve(plan.program, plan.arguments, plan.environment);
  return errno;
}

Child ByVfork(const Plan& plan) {
  // The child writes it before it is gone, and only then does the parent go on.
  volatile Note note{};
  // posix_spawn has no affinity, and does not say which of its steps failed.
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions)
  if (pid == 0) {
    // It calls the kernel only, and changes nothing but the note.
    note.error = BecomeProgram(plan, note);  // NOLINT(clang-analyzer-unix.Vfork)
    _exit(127);
  }
  if (pid < 0) return Child{0, errno, 0};
  return Child{note.error == 0 ? pid : 0, note.error, note.group_error, true};
}

// The child has a copy of this process's memory: the C library cannot start one that shares it in
// another control group. As with vfork, the parent goes on when the child has its program.
Child IntoGroup(const Plan& plan, int folder) {
  void* page =
      mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Child{0, errno, 0};
  volatile Note& note = *new (page) Note;
  clone_args arguments{};
  arguments.flags = CLONE_VFORK | CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(folder);
  const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
  const int not_cloned = errno;
  if (pid == 0) {
    note.error = BecomeProgram(plan, note);
    _exit(127);
  }
  const Child child{pid > 0 && note.error == 0 ? pid : 0, note.error, pid < 0 ? not_cloned : 0,
                    pid > 0};
  munmap(page, sizeof(Note));
  return child;
}

}  // namespace

Child StartChild(const StartRequest& request, const ChildDescriptors& descriptors,
                 const StepGroup* group) {
  const std::string program = FindProgram(request);
  if (program.empty()) return Child{0, ENOENT, 0};
  const UniqueFd input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!input) return Child{0, errno, 0};
  const auto arguments = Pointers(request.arguments);
  const auto environment = Pointers(request.environment);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (const auto processor : request.processors) {
    if (processor < CPU_SETSIZE) CPU_SET(processor, &processors);
  }
  const Plan plan{program.c_str(),
                  arguments.data(),
                  environment.data(),
                  request.folder.c_str(),
                  input.get(),
                  descriptors,
                  request.processors.empty() ? nullptr : &processors,
                  group != nullptr ? group->members_descriptor() : -1};
  if (group == nullptr || group->folder_descriptor() < 0) return ByVfork(plan);
  const Child child = IntoGroup(plan, group->folder_descriptor());
  if (child.group_error == 0) return child;
  // No room for one more process, wherever it is: that is no reason to run without a limit.
  if (child.group_error == EAGAIN || child.group_error == ENOMEM) {
    return Child{0, child.group_error, 0};
  }
  // It runs all the same, where everything else runs.
  Child outside = ByVfork(plan);
  outside.group_error = child.group_error;
  return outside;
}

}  // namespace reveza::runner
