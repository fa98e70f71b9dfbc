// Runs a command for a while and samples it and its descendants: limits, address space, mappings,
// libraries. Not thread-safe: makes the calling process a child subreaper.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/insight/doctor/subject.h"
#include "reveza/insight/doctor/termination.h"

namespace reveza::doctor {

struct Trial {
  std::vector<ProcessView> seen;  // the extremes of each process
  bool ended = false;             // it exited before the time limit
  Termination termination;        // how, if so
  std::chrono::milliseconds ran{0};
};

// Runs the command with empty standard input; keeps only the last lines of its output. After
// `limit` all remaining processes get SIGTERM, and two seconds later SIGKILL. kNotFound: no such
// command. kPermission: it cannot be executed.
Result<Trial> RunTrial(const std::vector<std::string>& command, std::chrono::milliseconds limit);

// Explains a failed exit. Returns nothing if the command succeeded or was stopped.
std::vector<Finding> DiagnoseExit(const Trial& trial);

}  // namespace reveza::doctor
