// What the OS says about processes: who is at the other end of a socket, whether it lives.
// Thread-safety: pure functions of the system.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"

namespace reveza::platform {

// A descriptor that becomes readable when the process ends. kNotFound: it has ended. kExhausted:
// there is none left.
Result<UniqueFd> OpenProcess(pid_t pid);

struct Credentials {
  pid_t pid = 0;  // 0: in a namespace that we cannot see
  uid_t uid = 0;
  gid_t gid = 0;
};
Result<Credentials> PeerCredentials(int socket);

// Whether the user has the group as its own or among its further ones.
// An error where that cannot be looked up now.
Result<bool> IsInGroup(uid_t uid, gid_t primary, gid_t group);
// kNotFound: there is none. Any other error: that cannot be looked up now.
Result<gid_t> GroupByName(const std::string& name);

// Clock ticks since boot at which the process began: with the pid, a name for one process that no
// later one has. Nothing when there is no such process.
std::optional<std::uint64_t> ProcessStartTime(pid_t pid, const std::filesystem::path& root = "/");

// Its arguments with blanks between them; empty when it cannot be read.
std::string ProcessCommand(pid_t pid, const std::filesystem::path& root = "/");

}  // namespace reveza::platform
