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

bool IsInGroup(uid_t uid, gid_t primary, gid_t group) {
  if (primary == group) return true;
  std::vector<char> buffer(16 * 1024);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return false;
  }
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
  std::vector<char> buffer(64 * 1024);
  group entry{};
  group* found = nullptr;
  if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr) {
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
