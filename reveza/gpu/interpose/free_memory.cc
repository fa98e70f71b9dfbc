#include "reveza/gpu/interpose/free_memory.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "reveza/gpu/interpose/gate_wait.h"

namespace reveza::interpose {
namespace {

constexpr std::int64_t kLimitUs = 10'000'000;
constexpr std::size_t kStackBytes = 64 << 10;

// What the child processes find in the memory of this one, which is suspended meanwhile.
struct Program {
  int output = -1;
  char** environment = nullptr;
  char* stack_end = nullptr;  // of the program, before it is executed
  pid_t pid = -1;             // of the program; set by the process that starts it
};

// Only system calls: the memory is the parent's.
int Execute(void* argument) {
  const Program& program = *static_cast<const Program*>(argument);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(program.output, STDOUT_FILENO);
  char name[] = "nvidia-smi";
  char query[] = "--query-gpu=uuid,memory.free";
  char format[] = "--format=csv,noheader,nounits";
  char* arguments[] = {name, query, format, nullptr};
  execvpe(name, arguments, program.environment);
  _exit(127);
}

int StartProgram(void* argument) {
  Program& program = *static_cast<Program*>(argument);
  program.pid = clone(Execute, program.stack_end, CLONE_VM | CLONE_VFORK | SIGCHLD, &program);
  _exit(0);
}

// Starts nvidia-smi as a process that is no child of this one. Returns its id, or -1.
pid_t Start(int output, char** environment) {
  char* const stacks = static_cast<char*>(malloc(2 * kStackBytes));
  if (stacks == nullptr) return -1;
  Program program{output, environment, stacks + kStackBytes};
  // A child that ends without a signal is none that the program could wait for. execve would change
  // that, so it is left to a grandchild.
  const pid_t child =
      clone(StartProgram, stacks + 2 * kStackBytes, CLONE_VM | CLONE_VFORK, &program);
  if (child > 0) {
    while (waitpid(child, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  free(stacks);
  return program.pid;
}

// Returns the environment without LD_PRELOAD; the strings stay the program's.
char** EnvironmentWithoutPreload() {
  std::size_t count = 0;
  while (environ[count] != nullptr) ++count;
  auto** const copy = static_cast<char**>(calloc(count + 1, sizeof(char*)));
  if (copy == nullptr) return nullptr;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0) copy[kept++] = environ[i];
  }
  return copy;
}

// Reads and terminates the text. Returns whether it has ended, within the limit of time and the
// buffer.
bool ReadAll(int fd, char* text, std::size_t size) {
  const std::int64_t until = NowMicroseconds() + kLimitUs;
  bool ended = false;
  std::size_t length = 0;
  while (!ended && length + 1 < size) {
    const std::int64_t left_ms = (until - NowMicroseconds()) / 1000;
    pollfd ready{fd, POLLIN, 0};
    if (left_ms <= 0 || poll(&ready, 1, static_cast<int>(left_ms)) <= 0) break;
    const ssize_t got = read(fd, text + length, size - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    ended = got <= 0;
    if (got > 0) length += static_cast<std::size_t>(got);
  }
  text[length] = '\0';
  return ended;
}

// Writes what nvidia-smi prints into `text`. Returns whether it has printed all.
bool RunNvidiaSmi(char* text, std::size_t size) {
  char** const environment = EnvironmentWithoutPreload();
  int ends[2];
  if (environment == nullptr || pipe2(ends, O_CLOEXEC) != 0) {
    free(environment);
    return false;
  }
  const pid_t pid = Start(ends[1], environment);
  free(environment);
  close(ends[1]);
  const bool whole = pid > 0 && ReadAll(ends[0], text, size);
  if (pid > 0 && !whole) kill(pid, SIGKILL);
  close(ends[0]);
  return whole;
}

}  // namespace

std::optional<Bytes> FreeMemoryOf(const CUuuid& uuid) {
  char name[41];
  int length = snprintf(name, sizeof(name), "GPU-");
  for (int i = 0; i < 16; ++i) {
    const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    length += snprintf(name + length, sizeof(name) - static_cast<std::size_t>(length), "%s%02x",
                       dash ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
  }
  char text[4096];
  if (!RunNvidiaSmi(text, sizeof(text))) return std::nullopt;
  const char* const line = strstr(text, name);
  const char* const comma = line == nullptr ? nullptr : strchr(line, ',');
  if (comma == nullptr) return std::nullopt;
  char* end = nullptr;
  const unsigned long long mib = strtoull(comma + 1, &end, 10);
  // A line that was cut off may lack digits.
  if (end == comma + 1 || *end != '\n') return std::nullopt;
  return mib << 20;
}

}  // namespace reveza::interpose
