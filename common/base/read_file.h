// Reads whole files. Thread-safety: pure functions of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/error.h"

namespace reveza {

// The longest file that a person is expected to have written; /dev/zero is longer.
inline constexpr std::size_t kMaxUserFile = std::size_t{1} << 30;

// Returns the contents of a file, which may be one without a size, such as a pipe. Errors name the
// file and the reason: kNotFound; kPermission; kInvalidArgument for a folder, or for more than
// `max_bytes`; kUnavailable if reading fails midway.
Result<std::string> ReadFile(const std::filesystem::path& path, std::size_t max_bytes = SIZE_MAX);

// Returns whether a file or folder exists. Fails like ReadFile if that cannot be determined.
Result<bool> FileExists(const std::filesystem::path& path);

}  // namespace reveza
