// Runs a check in a process of its own, so that its crash or its hanging ends nothing else.
// Thread-safety: none; the calling process should have one thread only, because it forks.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "doctor/finding.h"

namespace reveza::doctor {

using Findings = std::vector<Finding>;

// What `check` finds; where it crashes, ends or does not come back within `limit`, one finding
// kCheckFailed that says so. Whatever processes it has started in its group end with it.
Findings RunIsolated(const std::string& name, std::chrono::milliseconds limit,
                     const std::function<Findings()>& check);

}  // namespace reveza::doctor
