#include "phi/run/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "base/system_error.h"

namespace reveza::phi {

Result<UniqueFd> LockFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  UniqueFd file(open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    const int reason = errno;
    const bool refused = reason == EACCES || reason == EPERM || reason == EROFS;
    return Fail(
        refused ? Error::Code::kPermission : Error::Code::kUnavailable,
        fmt::format("cannot write to the folder {}: {}", folder.string(), std::strerror(reason)));
  }
  int reason = 0;
  do {
    reason = flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (reason == EINTR);
  if (reason != 0 && reason != EWOULDBLOCK) {
    return std::unexpected(SystemError(
        fmt::format("cannot lock {}, so that no other phi works there", folder.string()), reason));
  }
  if (reason != 0) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("another phi works in {}; wait for it, or give another --output",
                            folder.string()));
  }
  return file;
}

}  // namespace reveza::phi
