// Policies as people write them: in options, in the configuration, in files of worlds. Errors say
// what would be right, without the place. Pure functions.
#pragma once

#include <string_view>

#include "common/base/error.h"
#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::scheduler {

Result<double> ParseWeight(std::string_view text);
Result<Priority> ParsePriority(std::string_view text);
// Parses "true" or "false".
Result<bool> ParseInteractive(std::string_view text);
// Parses "REQUEST[:LIMIT]" into the policy; what is left out is none, and all.
Status ParseMemory(std::string_view text, Policy& policy);

}  // namespace reveza::scheduler
