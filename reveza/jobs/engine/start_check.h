// Finds steps that cannot be started, before the first one is. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

// Returns the environment of this process: "NAME=value".
std::vector<std::string> OwnEnvironment();

// kNotFound: the program or the folder of a step, or the interpreter of its script, is missing or
// cannot be used. `will_run` tells which steps matter. Skips steps that wait for others, which may
// create what is missing. `environment`: "NAME=value", of every step.
Status CheckPrograms(const Job& job, const Expander& expander,
                     const std::vector<std::string>& environment,
                     const std::function<bool(std::size_t step)>& will_run);

}  // namespace reveza::jobs
