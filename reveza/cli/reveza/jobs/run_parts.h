// What all runners need of this installation.
#pragma once

#include <filesystem>

#include "common/base/error.h"
#include "reveza/jobs/engine/engine.h"

namespace reveza::cli {

// Returns the supervisor of the build tree, beside this program, or the installed one in lib/.
Result<std::filesystem::path> FindSupervisor();

// Lets steps that claim GPU memory share the GPUs by the daemon. With REVEZA_DISABLE=1 they wait
// for each other instead.
void ShareGpus(jobs::EngineParts& parts);

}  // namespace reveza::cli
