// What the daemon's status says, as part of a snapshot. Thread-safety: a pure function.
#pragma once

#include <nlohmann/json.hpp>

#include "monitor/snapshot.h"

namespace reveza::monitor {

// Fills daemon, gpus, clients and outside; what is missing or of another kind is nothing.
// `pids_are_ours`: the daemon counts processes as we do; if not, its numbers are left out.
void ReadDaemonStatus(const nlohmann::json& status, bool pids_are_ours, Snapshot& snapshot);

}  // namespace reveza::monitor
