// Paths of the daemon's socket, lock and log, and of state. A folder in a world-writable place must
// belong to the user and be closed to others, or another user could impersonate the daemon. Pure
// functions of the system.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "common/base/error.h"

namespace reveza::platform {

inline constexpr const char* kSystemSocket = "/run/reveza/revezad.sock";

// Returns the value of a variable; nullopt if it is unset or empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> ProcessEnvironment(const char* name);

// Returns $XDG_RUNTIME_DIR/reveza/revezad.sock, else /tmp/reveza-<uid>/revezad.sock.
std::filesystem::path UserSocket(const Environment& environment, uid_t uid);

// Returns the folder of state that outlives programs: $REVEZA_STATE, else $XDG_STATE_HOME/reveza,
// else ~/.local/state/reveza.
Result<std::filesystem::path> StateHome(const Environment& environment);

// Creates the folder of a socket with mode 0700. Fails if it does not belong to `uid` or is
// writable by others.
Status PrepareSocketFolder(const std::filesystem::path& socket, uid_t uid);

// Returns the folder of the running program (from /proc/self/exe).
std::filesystem::path ProgramFolder();

}  // namespace reveza::platform
