// Small files that people write, read whole. Thread-safety: pure functions of the files.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace reveza::runner {

// kNotFound: there is none; kPermission: it may not be read; kInvalidArgument: it is a folder, or
// longer than a gibibyte. "-" has no meaning here.
Result<std::string> ReadTextFile(const std::filesystem::path& path);

}  // namespace reveza::runner
