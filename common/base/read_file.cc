#include "common/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include "common/base/unique_fd.h"

namespace reveza {
namespace {

constexpr std::size_t kMinReadSize = std::size_t{1} << 16;

std::unexpected<Error> FailBy(int error, const std::filesystem::path& path) {
  Error::Code code = Error::Code::kUnavailable;
  if (error == ENOENT || error == ENOTDIR) code = Error::Code::kNotFound;
  if (error == EACCES || error == EPERM) code = Error::Code::kPermission;
  if (error == EISDIR) code = Error::Code::kInvalidArgument;
  return Fail(code, "cannot read " + path.string() + ": " + std::generic_category().message(error));
}

}  // namespace

Result<std::string> ReadFile(const std::filesystem::path& path, std::size_t max_bytes) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0) return FailBy(errno, path);
  // One more than it says, so that the end is seen without growing.
  const auto said = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  std::string bytes;
  for (std::size_t room = std::max(said + 1, kMinReadSize);; room *= 2) {
    int error = 0;
    const std::size_t before = bytes.size();
    bytes.resize_and_overwrite(room, [&](char* data, std::size_t) {
      std::size_t size = before;
      while (size < room && error == 0) {
        const ssize_t got = read(file.get(), data + size, room - size);
        if (got == 0) break;
        if (got > 0) {
          size += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
          error = errno;
        }
      }
      return size;
    });
    if (error != 0) return FailBy(error, path);
    if (bytes.size() > max_bytes) {
      return InvalidArgument(path.string() + " is longer than " + std::to_string(max_bytes) +
                             " bytes");
    }
    if (bytes.size() < room) break;
  }
  return bytes;
}

Result<bool> FileExists(const std::filesystem::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FailBy(errno, path);
}

}  // namespace reveza
