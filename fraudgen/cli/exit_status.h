// Exit statuses and error messages of `fraudgen`; see docs/errors.md.
#pragma once

#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/cli/exit_status.h"

namespace reveza::fraudgen::cli {

inline constexpr ExitStatus kFindings{1};       // `check`: the data set has errors
inline constexpr ExitStatus kUnreadable{2};     // `check`: no readable data set
inline constexpr ExitStatus kConfiguration{3};  // invalid or unreadable configuration file

// Writes to standard error, ignoring write errors.
inline void PrintToStderr(const std::string& text) { std::fputs(text.c_str(), stderr); }

// Prints one line to standard error and returns `status`.
inline int ReportError(ExitStatus status, std::string_view message) {
  return PrintError("fraudgen", status, message);
}

// Returns the exit status after a signal.
inline ExitStatus StatusOfSignal(int signal) {
  return signal == SIGTERM ? kTerminated : kInterrupted;
}

inline int ReportError(const Error& error) {
  return ReportError(StatusOf(error.code), error.message);
}

}  // namespace reveza::fraudgen::cli
