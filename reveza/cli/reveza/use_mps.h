// MPS for the program of `reveza run` (docs/mps.md).
#pragma once

#include <nlohmann/json.hpp>

#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/exit_status.h"

namespace reveza::cli {

// Asks the daemon, whose status is `status`, for MPS if the options or its configuration want it,
// and sets the environment of the program. Uses a control daemon that the user has started instead.
// Fails only if the options ask for MPS.
CommandResult<void> UseMps(DaemonLink& link, const RunOptions& options,
                           const nlohmann::json& status, const std::filesystem::path& socket);

}  // namespace reveza::cli
