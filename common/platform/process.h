// Processes and users: pidfds, socket peers, groups, identity. Pure functions of the system.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "common/base/error.h"
#include "common/base/unique_fd.h"

namespace reveza::platform {

// Opens a pidfd, which becomes readable when the process exits. kNotFound if it has exited,
// kExhausted if no descriptors are left.
Result<UniqueFd> OpenProcess(pid_t pid);

// The same for the process at the other end of a socket, which may be in another PID namespace if
// the kernel knows SO_PEERPIDFD (Linux 6.5); else kNotFound.
Result<UniqueFd> OpenPeer(int socket);

struct Credentials {
  pid_t pid = 0;  // 0: in another PID namespace
  uid_t uid = 0;
  gid_t gid = 0;
};
// Returns the credentials of the process at the other end of a socket.
Result<Credentials> PeerCredentials(int socket);

// Returns whether `group` is a supplementary group of the process at the other end of a socket,
// which in a container need not be what the system's databases say of its user.
bool PeerIsInGroup(int socket, gid_t group);

// Returns whether `group` is the user's primary or a supplementary group. Fails if the lookup
// fails.
Result<bool> IsInGroup(uid_t uid, gid_t primary, gid_t group);
// Returns the id of a group by its name or, if none has that name, its number, which the system's
// databases need not know. kNotFound if it is neither; any other error if the lookup fails.
Result<gid_t> GroupByNameOrNumber(const std::string& group);

// Joins the arguments of /proc/PID/cmdline by spaces.
std::string JoinArguments(std::string cmdline);
// Returns the arguments, at most 4 KiB, or "" if they cannot be read.
std::string ProcessCommand(pid_t pid, const std::filesystem::path& root = "/");

}  // namespace reveza::platform
