// Runs a command for a while and watches it: its limits, address space, mappings and libraries,
// with all that it starts. Not safe from several threads: it makes the calling process the reaper
// of what the command leaves behind.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "doctor/death.h"
#include "doctor/subject.h"

namespace reveza::doctor {

struct Trial {
  std::vector<ProcessView> seen;  // each process at its worst
  bool ended = false;             // by itself, before the time was over
  Death death;                    // how, if so
  std::chrono::milliseconds ran{0};
};

// Its input is empty, and of its output only the last lines are kept. What still runs after
// `limit` gets SIGTERM, and two seconds later SIGKILL: nothing of it stays.
// kNotFound: no such command. kPermission: it cannot be executed.
Result<Trial> RunTrial(const std::vector<std::string>& command, std::chrono::milliseconds limit);

// What the end of the command says: why it died, or that it failed, or nothing.
std::vector<Finding> JudgeEnd(const Trial& trial);

}  // namespace reveza::doctor
