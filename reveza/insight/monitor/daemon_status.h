// Parses the daemon's status. A pure function.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

// Fills daemon, gpus, clients and outside; missing fields or fields of another type stay empty.
// Unless the daemon shares our pid namespace, its pids are omitted. A further daemon, at another
// `socket`, adds to what those before have of a GPU.
void ReadDaemonStatus(const nlohmann::json& status, bool same_pid_namespace, Snapshot& snapshot,
                      const std::string& socket = "");

// Returns what differs from the default in the policy of a client, as text; empty: nothing.
std::string PolicyText(const nlohmann::json& policy);

}  // namespace reveza::monitor
