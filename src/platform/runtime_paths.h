// Where the daemon's socket, lock and log are.
//
// A folder in a place where everybody may write must be the user's own and closed to others, or
// another user could stand in for the daemon. Thread-safety: pure functions of the system.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"

namespace reveza::platform {

inline constexpr const char* kSystemSocket = "/run/reveza/revezad.sock";

// The value of a variable; nothing when it is not set or empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> ProcessEnvironment(const char* name);

// $XDG_RUNTIME_DIR/reveza/revezad.sock, else /tmp/reveza-<uid>/revezad.sock.
std::filesystem::path UserSocket(const Environment& environment, uid_t uid);

// Makes the folder of a socket, mode 0700, and verifies that it belongs to `uid` and that nobody
// else may write into it.
Status PrepareSocketFolder(const std::filesystem::path& socket, uid_t uid);

// The folder of the running program: /proc/self/exe without its last part.
std::filesystem::path ProgramFolder();

}  // namespace reveza::platform
