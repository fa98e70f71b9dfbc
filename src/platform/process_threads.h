// The threads of a process: what each does and how often it waited. Nothing of what cannot be read.
// Thread-safety: pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace reveza::platform {

struct ThreadState {
  pid_t thread = 0;
  char state = '?';         // R running or runnable, S sleeping, D in the kernel, ...
  std::uint64_t ticks = 0;  // CPU time, of sysconf(_SC_CLK_TCK) a second
  // How often it gave its CPU away to wait; nothing unless asked for, it takes a file more.
  std::optional<std::uint64_t> waits;
  bool operator==(const ThreadState&) const = default;
};

// Of a process, 0: of this one; at most `most` of them.
std::vector<ThreadState> ReadThreads(pid_t pid, bool with_waits, std::size_t most = 512,
                                     const std::filesystem::path& root = "/");

}  // namespace reveza::platform
