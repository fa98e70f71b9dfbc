// Unix sockets, of the daemon (SOCK_SEQPACKET) or of another `type`, and lock files. Pure functions
// of the system.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "common/base/error.h"
#include "common/base/unique_fd.h"

namespace reveza::platform {

// Locks `path` until the descriptor is closed. kUnavailable if another process holds the lock. It
// is an open-file-description lock: shared across fork().
Result<UniqueFd> LockFile(const std::filesystem::path& path);
// Returns whether the lock is held, without taking it. Fails if that cannot be determined.
Result<bool> IsLocked(const std::filesystem::path& path);

// Creates a non-blocking listener at `path`, replacing an existing socket; the caller must hold the
// lock. Mode 0600, or 0660 and owned by `group`.
Result<UniqueFd> ListenAt(const std::filesystem::path& path, std::optional<gid_t> group,
                          int type = SOCK_SEQPACKET);

// Connects; blocking. kUnavailable if nothing listens, kPermission if this user may not connect.
Result<UniqueFd> ConnectTo(const std::filesystem::path& path, int type = SOCK_SEQPACKET);

}  // namespace reveza::platform
