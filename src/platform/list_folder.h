// What stands in a folder. Thread-safety: a pure function of the folder.
#pragma once

#include <filesystem>
#include <vector>

#include "base/error.h"

namespace reveza::platform {

// The paths of all in it, sorted by their names. kNotFound: there is no such folder (any more). Any
// other error: it cannot be read (now), and nobody knows what is in it.
Result<std::vector<std::filesystem::path>> ListFolder(const std::filesystem::path& folder);

}  // namespace reveza::platform
