#include "runner/child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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
};

int BecomeProgram(const Plan& plan) {
  setsid();
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

}  // namespace

Child StartChild(const StartRequest& request, const ChildDescriptors& descriptors) {
  const std::string program = FindProgram(request);
  if (program.empty()) return Child{0, ENOENT};
  const UniqueFd input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!input) return Child{0, errno};
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
                  request.processors.empty() ? nullptr : &processors};
  // The child writes it before it is gone, and only then does the parent go on.
  volatile int error = 0;
  // posix_spawn has no affinity, and does not say which of its steps failed.
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions)
  if (pid == 0) {
    error = BecomeProgram(plan);
    _exit(127);
  }
  if (pid < 0) return Child{0, errno};
  return Child{error == 0 ? pid : 0, error};
}

}  // namespace reveza::runner
