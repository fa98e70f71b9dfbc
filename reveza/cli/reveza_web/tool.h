// Runs `reveza` for data that takes long to collect, or whose collection forks, which a server with
// threads must not: jobs, findings and usage. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace reveza::cli {

struct ToolOutput {
  int status = 0;  // exit status
  std::string out;
  std::string errors;
};

inline constexpr std::size_t kMaxToolOutput = 4 << 20;

// Runs the `reveza` beside this program with these arguments. kUnavailable if it cannot be started
// or does not end within `limit`, after which it is killed. Of a longer output only the last
// kMaxToolOutput bytes are returned.
Result<ToolOutput> RunTool(const std::vector<std::string>& arguments,
                           std::chrono::milliseconds limit);

}  // namespace reveza::cli
