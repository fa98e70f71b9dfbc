// The daemon's address: a listening socket of packets, and the lock that says whose it is.
// Thread-safety: pure functions of the system.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/unique_fd.h"

namespace reveza::platform {

// Holds `path` until the descriptor is closed. kUnavailable when another process holds it.
// An open-file-description lock: a fork shares it, another open file does not.
Result<UniqueFd> LockFile(const std::filesystem::path& path);
// Whether somebody holds it: asked without taking it. An error where that cannot be seen now.
Result<bool> IsLocked(const std::filesystem::path& path);

// A non-blocking SOCK_SEQPACKET listener at `path`, replacing what is there: the caller holds the
// lock. Mode 0600, or with a group 0660 and the group as owner.
Result<UniqueFd> ListenAt(const std::filesystem::path& path, std::optional<gid_t> group);

// kUnavailable: nobody listens. kPermission: not for this user. Blocking.
Result<UniqueFd> ConnectTo(const std::filesystem::path& path);

}  // namespace reveza::platform
