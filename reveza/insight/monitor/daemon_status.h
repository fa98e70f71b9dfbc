// Parses the daemon's status. A pure function.
#pragma once

#include <nlohmann/json.hpp>

#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

// Fills daemon, gpus, clients and outside; missing fields or fields of another type stay empty.
// Unless the daemon shares our pid namespace, its pids are omitted.
void ReadDaemonStatus(const nlohmann::json& status, bool same_pid_namespace, Snapshot& snapshot);

}  // namespace reveza::monitor
