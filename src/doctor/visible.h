// What of a process this user may not look at. Thread-safety: values and pure functions.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "doctor/isolate.h"

namespace reveza::doctor {

struct Hidden {
  pid_t pid = 0;
  std::string called;
  std::optional<uid_t> owner;
  std::vector<std::string> parts;  // empty: everything may be read
};

Findings JudgeHidden(const std::vector<Hidden>& processes);

}  // namespace reveza::doctor
