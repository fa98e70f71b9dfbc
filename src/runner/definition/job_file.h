// A job in a file, TOML or JSON with the same keys. docs/jobs.md describes them.
// Thread-safety: pure functions of their arguments and the files that are named.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "runner/job.h"

namespace reveza::runner {

enum class JobFormat { kToml, kJson };

// `name` is what errors call the text; relative folders and @files begin in `folder`, which is
// absolute. kInvalidArgument: name, line and column, what is wrong there and what would be right.
Result<Job> ParseJob(std::string_view text, JobFormat format, std::string_view name,
                     const std::filesystem::path& folder);

// The format is that of the name: .json is JSON, all else TOML. Relative folders begin in the
// folder of the file. kNotFound, kPermission: it cannot be read.
Result<Job> ReadJobFile(const std::filesystem::path& path);

}  // namespace reveza::runner
