// The script that an engine starts for each task of an array. A pure function.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "reveza/jobs/cluster/cluster_engine.h"

namespace reveza::jobs {

inline constexpr const char* kRunScript = "run.sh";

// Lines of a shell. `begin` sets `task`, the number of the task, and what to do at signals;
// `started` knows the runner as $runner, and `ended` its status as $status.
struct TaskScriptParts {
  std::filesystem::path reveza;
  std::filesystem::path array;
  std::string begin;
  std::string started{};
  std::string ended{};
};

// Starts the runner of a task again if it is killed: it leaves steps that go on, and the next one
// waits for them, and starts none of them again.
ArrayScript TaskScript(const TaskScriptParts& parts);

// Returns a word of a shell.
std::string ShellQuoted(std::string_view word);

}  // namespace reveza::jobs
