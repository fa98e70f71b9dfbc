// What lies in the folder of a run before it begins.
// Thread-safety: pure functions of files; the folder must be locked (folder_lock.h).
#pragma once

#include "base/error.h"
#include "phi/run/settings.h"

namespace reveza::phi {

// For a run that goes on from no checkpoint. With settings.fresh: removes what another run left
// under the names that this one may write, of every format. Else it refuses what lies there
// (kIncompatible), for without a checkpoint it is not ours. Error also: something cannot be
// removed.
Status ClearFolder(const RunSettings& settings);

}  // namespace reveza::phi
