// The exit statuses that all command-line programs share; a program adds its own in a header of its
// own. docs/errors.md documents all of them.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "common/base/error.h"

namespace reveza {

enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,         // unclassified failure
  kUsage = 2,          // invalid command line or invalid input data
  kPermission = 5,     // permission denied on a file, folder or socket
  kOutput = 12,        // output cannot be written, or a file or device is unavailable
  kOtherData = 15,     // existing data is incompatible with the request
  kNoRoom = 16,        // out of memory or disk space
  kInterrupted = 130,  // SIGINT
  kTerminated = 143,   // SIGTERM
};

// Maps an error code to an exit status.
inline ExitStatus StatusOf(Error::Code code) {
  switch (code) {
    case Error::Code::kInvalidArgument:
      return kUsage;
    case Error::Code::kNotFound:
    case Error::Code::kUnavailable:
      return kOutput;
    case Error::Code::kPermission:
      return kPermission;
    case Error::Code::kIncompatible:
      return kOtherData;
    case Error::Code::kExhausted:
      return kNoRoom;
    case Error::Code::kInternal:
      return kFailed;
  }
  return kFailed;
}

// Prints "PROGRAM: MESSAGE" to standard error and returns `status`. Never throws on a write error.
inline int PrintError(std::string_view program, ExitStatus status, std::string_view message) {
  std::fputs(fmt::format("{}: {}\n", program, message).c_str(), stderr);
  return status;
}

}  // namespace reveza
