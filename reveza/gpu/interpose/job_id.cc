#include "reveza/gpu/interpose/job_id.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace reveza::interpose {
namespace {

// Returns the parent of a process; 0 if unknown.
pid_t ParentOf(pid_t pid) {
  char text[512];
  snprintf(text, sizeof(text), "/proc/%d/stat", static_cast<int>(pid));
  const int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  // PID (COMMAND) STATE PARENT ...; the command may contain anything.
  const char* rest = strrchr(text, ')');
  return rest == nullptr || strlen(rest) < 4 ? 0 : atoi(rest + 4);
}

// Returns the session of the notebook kernel that this process is part of; 0 if there is none.
pid_t KernelSession() {
  const char* text = getenv("JPY_PARENT_PID");
  const pid_t server = text == nullptr ? 0 : atoi(text);
  if (server <= 0) return 0;
  const pid_t session = getsid(0);
  return session > 0 && ParentOf(session) == server ? session : 0;
}

}  // namespace

std::uint64_t JobOfThisProcess() {
  const char* text = getenv("REVEZA_JOB");
  std::uint64_t job = text == nullptr ? 0 : strtoull(text, nullptr, 16);
  if (job == 0) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return (static_cast<std::uint64_t>(now.tv_sec) << 32) ^
           (static_cast<std::uint64_t>(now.tv_nsec) << 16) ^ static_cast<std::uint64_t>(getpid());
  }
  // An odd factor maps sessions to distinct numbers, spread over all bits.
  job ^= static_cast<std::uint64_t>(KernelSession()) * 0x9E3779B97F4A7C15;
  return job != 0 ? job : 1;
}

}  // namespace reveza::interpose
