// Runs `reveza` for data that takes long to collect, or whose collection forks, which a server with
// threads must not: jobs, findings and usage. Thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/platform/run_program.h"

namespace reveza::cli {

// Runs the `reveza` beside this program with these arguments; see RunProgram().
Result<platform::ProgramOutput> RunTool(const std::vector<std::string>& arguments,
                                        std::chrono::milliseconds limit);

}  // namespace reveza::cli
