// For tests: runs shell commands.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <ostream>
#include <string>

namespace reveza::platform {

struct Ran {
  int status = -1;     // exit status, or 128 + signal as in a shell
  std::string output;  // both streams
  bool operator==(const Ran&) const = default;
};
inline void PrintTo(const Ran& ran, std::ostream* out) { *out << ran.status << ": " << ran.output; }

// Runs a command, which may begin with variables ("NAME=value program ..."), and waits for it.
inline Ran Shell(const std::string& command) {
  Ran ran;
  FILE* pipe = popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return ran;
  char part[4096];
  for (std::size_t got; (got = fread(part, 1, sizeof part, pipe)) > 0;) {
    ran.output.append(part, got);
  }
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

}  // namespace reveza::platform
