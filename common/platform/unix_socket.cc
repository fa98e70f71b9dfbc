#include "common/platform/unix_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace reveza::platform {
namespace {

constexpr struct flock kWriteLock = {
    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};

Result<sockaddr_un> AddressOf(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof(address.sun_path)) {
    return Fail(Error::Code::kInvalidArgument,
                "the socket path '{}' has {} characters; the maximum is {}", text, text.size(),
                sizeof(address.sun_path) - 1);
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

std::unexpected<Error> FailWith(const char* what, const std::filesystem::path& path) {
  const auto code =
      errno == EACCES || errno == EPERM ? Error::Code::kPermission : Error::Code::kExhausted;
  return Fail(code, "cannot {} {}: {}", what, path.string(), std::strerror(errno));
}

}  // namespace

Result<UniqueFd> LockFile(const std::filesystem::path& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return FailWith("open the lock", path);
  struct flock lock = kWriteLock;
  if (fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return fd;
  if (errno == EAGAIN || errno == EACCES) {
    return Fail(Error::Code::kUnavailable, "another daemon holds {}", path.string());
  }
  return FailWith("lock", path);
}

Result<bool> IsLocked(const std::filesystem::path& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return false;
  if (!fd) return FailWith("open the lock", path);
  struct flock lock = kWriteLock;
  if (fcntl(fd.get(), F_OFD_GETLK, &lock) != 0) return FailWith("query the lock", path);
  return lock.l_type != F_UNLCK;
}

Result<UniqueFd> ListenAt(const std::filesystem::path& path, std::optional<gid_t> group, int type) {
  ASSIGN_OR_RETURN(const auto address, AddressOf(path));
  UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailWith("create a socket for", path);
  unlink(path.c_str());
  // The mode must be right from the start: a later chmod() would leave a window.
  const mode_t before = umask(group ? 0117 : 0177);
  const int bound =
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(sockaddr_un));
  umask(before);
  if (bound != 0) return FailWith("bind", path);
  if (group && chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
    return FailWith("change the group of", path);
  }
  if (listen(fd.get(), SOMAXCONN) != 0) return FailWith("listen at", path);
  return fd;
}

Result<UniqueFd> ConnectTo(const std::filesystem::path& path, int type) {
  ASSIGN_OR_RETURN(const auto address, AddressOf(path));
  UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!fd) return FailWith("create a socket for", path);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(sockaddr_un)) == 0) {
    return fd;
  }
  if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR) {
    return Fail(Error::Code::kUnavailable, "no daemon answers at {}", path.string());
  }
  return FailWith("connect to", path);
}

}  // namespace reveza::platform
