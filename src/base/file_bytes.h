// A whole file in memory. Thread-safety: a pure function of the file.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace reveza {

// Also of what has no size, such as a pipe. Errors: kNotFound, kPermission, kInvalidArgument for a
// folder, kUnavailable where reading breaks off; each names the file and the reason.
Result<std::string> FileBytes(const std::filesystem::path& path);

}  // namespace reveza
