// How `fraudgen` ends. docs/errors.md has the same table.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/error.h"

namespace reveza::fraudgen {

enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,         // something of ours went wrong
  kFindings = 1,       // `fraudgen check` found something wrong
  kUsage = 2,          // the command line is wrong
  kUnreadable = 2,     // there is no data set to check
  kConfiguration = 3,  // the configuration file is wrong or cannot be read
  kPermission = 5,     // the folder cannot be written to
  kOutput = 12,        // a file cannot be written for another reason
  kOtherData = 15,     // the folder holds data that was made otherwise
  kNoRoom = 16,        // the disk is full
  kInterrupted = 130,  // Ctrl-C; SIGTERM gives 143
  kTerminated = 143,
};

// One line on standard error; who cannot be told still gets the status.
inline int Say(ExitStatus status, const std::string& message) {
  std::fputs(fmt::format("fraudgen: {}\n", message).c_str(), stderr);
  return status;
}

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

inline int Say(const Error& error) { return Say(StatusOf(error.code), error.message); }

}  // namespace reveza::fraudgen
