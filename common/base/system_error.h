// Converts errno values to Errors. Header only.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "common/base/error.h"

namespace reveza {

inline Error::Code CodeOfSystemError(int error) {
  switch (error) {
    case ENOENT:
      return Error::Code::kNotFound;
    case ENOTDIR:
    case EISDIR:
      return Error::Code::kInvalidArgument;
    case EACCES:
    case EPERM:
    case EROFS:
      return Error::Code::kPermission;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Error::Code::kExhausted;
    default:
      return Error::Code::kInternal;
  }
}

// Returns "WHAT: No such file or directory". The code is kNotFound, kInvalidArgument (a file
// instead of a folder or vice versa), kPermission, kExhausted (disk, memory, descriptors) or
// kInternal.
inline Error SystemError(const std::string& what, int error) {
  return {CodeOfSystemError(error), what + ": " + std::generic_category().message(error)};
}

}  // namespace reveza
