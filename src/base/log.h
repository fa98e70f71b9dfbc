// The daemon's log: one line an event, with time and level, to standard error (a log file, the
// journal or a terminal). Programs under Reveza never log: they say one line, see interpose/.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>
#include <string_view>

#include "base/error.h"

namespace reveza {

using Logger = std::shared_ptr<spdlog::logger>;

// Levels: "debug", "info", "warning", "error", "off".
Result<Logger> MakeLogger(std::string_view level);
// For tests and for those who do not want to hear anything.
Logger MakeSilentLogger();

}  // namespace reveza
