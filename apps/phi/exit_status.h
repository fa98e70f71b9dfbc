// How `phi` ends, and what it says then. docs/errors.md has the table.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/exit_status.h"

namespace reveza::phi {

// One line on standard error; who cannot be told still gets the status.
inline int Say(ExitStatus status, const std::string& message) {
  std::fputs(fmt::format("phi: {}\n", message).c_str(), stderr);
  return status;
}

inline int Say(const Error& error) { return Say(StatusOf(error.code), error.message); }

}  // namespace reveza::phi
