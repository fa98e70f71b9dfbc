// What the commands of `reveza jobs` that look at a job, or tell it something, have in common.
// Thread-safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runner/journal/job_folder.h"

namespace reveza::cli {

struct JobWords {
  std::vector<std::string> names;
  bool json = false;
};

// Names, from `least` to `most` of them, and --json; anything else is refused (kInvalidArgument).
Result<JobWords> ReadJobWords(int argc, char** argv, std::size_t least, std::size_t most,
                              std::string_view usage);

// kNotFound: there is no such job.
Result<runner::JobFolder> FindJob(const std::string& name);

// On standard error; what the program then ends with.
int SayJobError(const Error& error);

}  // namespace reveza::cli
