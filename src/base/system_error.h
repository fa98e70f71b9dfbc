// What a call of the operating system said, as an Error. Needs no library of ours.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.h"

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

// "what: No such file or directory". kNotFound; kInvalidArgument (a file where a folder should be,
// or the other way round); kPermission; kExhausted (disk, memory, descriptors); else kInternal.
inline Error SystemError(const std::string& what, int error) {
  return {CodeOfSystemError(error), what + ": " + std::generic_category().message(error)};
}

}  // namespace reveza
