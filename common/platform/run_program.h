// Runs a program to its end and collects what it prints. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace reveza::platform {

struct ProgramOutput {
  int status = 0;  // exit status, or 128 + signal as in a shell
  std::string out;
  std::string errors;
};

inline constexpr std::size_t kMaxProgramOutput = 4 << 20;

// Runs `words`, the first of which is looked up in PATH unless it has a slash, with no standard
// input, no signal blocked and in a process group of its own, which a terminal does not interrupt.
// kNotFound: no such program. kUnavailable: it does not end within `limit`, after which its group
// is killed. Of a longer output only the last `max_output` bytes are returned.
Result<ProgramOutput> RunProgram(const std::vector<std::string>& words,
                                 std::chrono::milliseconds limit,
                                 std::size_t max_output = kMaxProgramOutput);

}  // namespace reveza::platform
