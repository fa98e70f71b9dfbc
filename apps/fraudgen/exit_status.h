// How `fraudgen` ends, and what it says then. docs/errors.md has the table.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/exit_status.h"

namespace reveza::fraudgen {

inline constexpr ExitStatus kFindings{1};       // `fraudgen check` found something wrong
inline constexpr ExitStatus kUnreadable{2};     // there is no data set to check
inline constexpr ExitStatus kConfiguration{3};  // the configuration file is wrong or cannot be read

// To standard error, as it is; that nobody can be told ends nothing.
inline void Remark(const std::string& text) { std::fputs(text.c_str(), stderr); }

// One line on standard error; who cannot be told still gets the status.
inline int Say(ExitStatus status, const std::string& message) {
  Remark(fmt::format("fraudgen: {}\n", message));
  return status;
}

inline int Say(const Error& error) { return Say(StatusOf(error.code), error.message); }

}  // namespace reveza::fraudgen
