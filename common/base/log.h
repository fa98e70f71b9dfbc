// The daemon's log: one line per event, with time and level, on standard error. Programs under
// Reveza do not log; see reveza/gpu/interpose/.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>
#include <string_view>

#include "common/base/error.h"

namespace reveza {

using Logger = std::shared_ptr<spdlog::logger>;

// Returns a thread-safe logger. kInvalidArgument unless `level` is "debug", "info", "warning",
// "error" or "off".
Result<Logger> MakeLogger(std::string_view level);
// Returns a logger that discards everything.
Logger MakeNullLogger();

}  // namespace reveza
