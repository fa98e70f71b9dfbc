// Reads job files, TOML or JSON with the same keys; docs/jobs.md describes the format.
// Pure functions of their arguments and of the files they name.
#pragma once

#include <filesystem>
#include <string_view>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

enum class JobFormat { kToml, kJson };

// Parses a job. Errors call the text `name`; relative folders and @files are resolved against
// `folder`, which is absolute. kInvalidArgument messages begin with "name:line:column: ".
Result<Job> ParseJob(std::string_view text, JobFormat format, std::string_view name,
                     const std::filesystem::path& folder);

// Reads a job from a file: JSON when the name ends in .json, otherwise TOML. Relative folders are
// resolved against the folder of the file. kNotFound, kPermission: unreadable file.
Result<Job> ReadJobFile(const std::filesystem::path& path);

}  // namespace reveza::jobs
