// One program at a time works in a folder. Thread-safety: as of a file descriptor.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "base/unique_fd.h"

namespace reveza::phi {

// Makes the folder where it is not there. Held until the descriptor is closed, also by death.
// Errors: the folder cannot be made or written to; another program holds it (kUnavailable).
Result<UniqueFd> LockFolder(const std::filesystem::path& folder);

}  // namespace reveza::phi
