// A whole file in memory, and whether there is one. Thread-safety: pure functions of the file.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace reveza {

// Also of what has no size, such as a pipe. Errors: kNotFound, kPermission, kInvalidArgument for a
// folder, kUnavailable where reading breaks off; each names the file and the reason.
Result<std::string> FileBytes(const std::filesystem::path& path);

// Whether something of that name is there. Where that cannot be seen it is an error, not "no": the
// same ones.
Result<bool> IsThere(const std::filesystem::path& path);

}  // namespace reveza
