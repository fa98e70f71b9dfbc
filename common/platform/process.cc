#include "common/platform/process.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/platform/text_file.h"

namespace reveza::platform {
namespace {

constexpr std::size_t kMaxCommand = 4096;

// Retries with a larger buffer on ERANGE: a group may have thousands of members.
template <typename LookUp>
int WithRoom(std::vector<char>& buffer, LookUp look_up) {
  constexpr std::size_t kFirst = 16 * kKiB;
  constexpr std::size_t kLast = 64 * kMiB;
  int error = 0;
  for (std::size_t size = kFirst; size <= kLast; size *= 4) {
    buffer.resize(size);
    error = look_up();
    if (error != ERANGE && error != EINTR) break;
  }
  // Some C libraries report a missing entry like this.
  return error == ENOENT || error == ESRCH ? 0 : error;
}

}  // namespace

Result<UniqueFd> OpenProcess(pid_t pid) {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (fd) return fd;
  auto error = SystemError(fmt::format("cannot watch process {}", pid), errno);
  if (errno == ESRCH) error.code = Error::Code::kNotFound;
  return std::unexpected(std::move(error));
}

Result<UniqueFd> OpenPeer(int socket) {
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, which headers before Linux 6.5 lack
  int fd = -1;
  socklen_t size = sizeof(fd);
  if (getsockopt(socket, SOL_SOCKET, kPeerPidfd, &fd, &size) == 0) return UniqueFd(fd);
  if (errno == ENOPROTOOPT) {
    ASSIGN_OR_RETURN(const Credentials peer, PeerCredentials(socket));
    return OpenProcess(peer.pid);
  }
  auto error = SystemError("cannot watch the peer", errno);
  // It has exited, and its parent has waited for it.
  if (errno == EINVAL || errno == ESRCH || errno == ENODATA) error.code = Error::Code::kNotFound;
  return std::unexpected(std::move(error));
}

Result<Credentials> PeerCredentials(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::unexpected(SystemError("cannot identify the peer", errno));
  }
  return Credentials{peer.pid, peer.uid, peer.gid};
}

bool PeerIsInGroup(int socket, gid_t group) {
  constexpr int kPeerGroups = 59;  // SO_PEERGROUPS
  std::vector<gid_t> groups(64);
  auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  int result = getsockopt(socket, SOL_SOCKET, kPeerGroups, groups.data(), &size);
  if (result != 0 && errno == ERANGE) {
    groups.resize(size / sizeof(gid_t));
    result = getsockopt(socket, SOL_SOCKET, kPeerGroups, groups.data(), &size);
  }
  if (result != 0) return false;
  groups.resize(size / sizeof(gid_t));
  return std::ranges::find(groups, group) != groups.end();
}

Result<bool> IsInGroup(uid_t uid, gid_t primary, gid_t group) {
  if (primary == group) return true;
  std::vector<char> buffer;
  passwd entry{};
  passwd* found = nullptr;
  const int error = WithRoom(
      buffer, [&] { return getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found); });
  if (error != 0) {
    return std::unexpected(SystemError(fmt::format("cannot look up user {}", uid), error));
  }
  if (found == nullptr) return false;
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  if (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
    if (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) return false;
  }
  groups.resize(static_cast<std::size_t>(count));
  return std::ranges::find(groups, group) != groups.end();
}

Result<gid_t> GroupByNameOrNumber(const std::string& name) {
  std::vector<char> buffer;
  group entry{};
  group* found = nullptr;
  const int error = WithRoom(buffer, [&] {
    return getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  });
  if (error != 0) {
    return std::unexpected(SystemError(fmt::format("cannot look up the group '{}'", name), error));
  }
  if (found != nullptr) return found->gr_gid;
  gid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, invalid] = std::from_chars(name.data(), end, number);
  // The last number means "unchanged" to chown().
  if (invalid != std::errc() || rest != end || number == static_cast<gid_t>(-1)) {
    return Fail(Error::Code::kNotFound, "no such group, nor the number of one: '{}'", name);
  }
  return number;
}

std::string JoinArguments(std::string cmdline) {
  while (cmdline.ends_with('\0')) cmdline.pop_back();
  std::ranges::replace(cmdline, '\0', ' ');
  return cmdline;
}

std::string ProcessCommand(pid_t pid, const std::filesystem::path& root) {
  const auto cmdline = ReadText(ProcessFolder(pid, root) / "cmdline");
  return JoinArguments(cmdline.value_or("").substr(0, kMaxCommand));
}

}  // namespace reveza::platform
