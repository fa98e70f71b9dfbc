// Arrow's errors as ours. Only for code compiled with Arrow.
#pragma once

#include <arrow/status.h>

#include <exception>
#include <expected>
#include <string>

#include "common/base/error.h"

namespace reveza {

// Calls a function that returns an arrow::Status. Some of Arrow's functions throw instead.
template <typename Call>
arrow::Status CatchArrow(const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return arrow::Status::UnknownError(error.what());
  }
}

// Returns the error of a damaged file.
inline std::unexpected<Error> DamagedFile(const std::string& file, const arrow::Status& status) {
  return InvalidArgument(file + ": " + status.message());
}

}  // namespace reveza
