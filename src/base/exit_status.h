// How `fraudgen` and `phi` end; each has more of its own. docs/errors.md has the tables.
#pragma once

#include "base/error.h"

namespace reveza {

enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,         // something of ours went wrong
  kUsage = 2,          // the command line is wrong, or a number in the data
  kPermission = 5,     // a file or folder cannot be read or written
  kOutput = 12,        // the same for another reason; a device is not there
  kOtherData = 15,     // what lies there was made otherwise
  kNoRoom = 16,        // the disk is full, or the memory not enough
  kInterrupted = 130,  // Ctrl-C; SIGTERM gives 143
  kTerminated = 143,
};

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

}  // namespace reveza
