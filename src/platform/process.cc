#include "platform/process.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/bytes.h"
#include "base/system_error.h"

namespace reveza::platform {
namespace {

constexpr std::size_t kMaxCommand = 4096;

std::string ReadSome(const std::filesystem::path& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// Again with a larger buffer where an entry has no room: a group may have thousands of members.
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
  // So some libraries say that there is no such entry.
  return error == ENOENT || error == ESRCH ? 0 : error;
}

std::filesystem::path ProcOf(pid_t pid, const std::filesystem::path& root) {
  return root / "proc" / std::to_string(pid);
}

}  // namespace

Result<UniqueFd> OpenProcess(pid_t pid) {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (fd) return fd;
  auto error = SystemError(fmt::format("cannot watch process {}", pid), errno);
  if (errno == ESRCH) error.code = Error::Code::kNotFound;
  return std::unexpected(std::move(error));
}

Result<Credentials> PeerCredentials(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return Fail(Error::Code::kInternal,
                fmt::format("cannot tell who connected: {}", std::strerror(errno)));
  }
  return Credentials{peer.pid, peer.uid, peer.gid};
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

Result<gid_t> GroupByName(const std::string& name) {
  std::vector<char> buffer;
  group entry{};
  group* found = nullptr;
  const int error = WithRoom(buffer, [&] {
    return getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  });
  if (error != 0) {
    return std::unexpected(SystemError(fmt::format("cannot look up the group '{}'", name), error));
  }
  if (found == nullptr) {
    return Fail(Error::Code::kNotFound, fmt::format("there is no group '{}'", name));
  }
  return found->gr_gid;
}

std::optional<std::uint64_t> ProcessStartTime(pid_t pid, const std::filesystem::path& root) {
  const std::string stat = ReadSome(ProcOf(pid, root) / "stat", 4096);
  // The name in parentheses may itself hold blanks and parentheses.
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(end + 1));
  std::string field;
  for (int i = 3; i < 22; ++i) fields >> field;
  std::uint64_t start = 0;
  if (!(fields >> start)) return std::nullopt;
  return start;
}

std::string ProcessCommand(pid_t pid, const std::filesystem::path& root) {
  std::string text = ReadSome(ProcOf(pid, root) / "cmdline", kMaxCommand);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

}  // namespace reveza::platform
