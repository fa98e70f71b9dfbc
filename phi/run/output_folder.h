// The output folder of a run.
#pragma once

#include <filesystem>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// Creates the folder if necessary and locks it until the descriptor is closed or the process dies.
// Returns kUnavailable if another process holds the lock, or an error if the folder cannot be
// created or written.
Result<UniqueFd> LockFolder(const std::filesystem::path& folder);

// Prepares settings.folder, which must be locked, for a run without a checkpoint. With
// settings.fresh, removes results of an earlier run in every format; otherwise returns
// kIncompatible if there are any, since files without a checkpoint are not this run's to overwrite.
// Returns kPermission if a file cannot be removed.
Status PrepareFolder(const RunSettings& settings);

}  // namespace reveza::phi
