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
  std::string bytes(std::max(said + 1, kMinReadSize), '\0');
  std::size_t size = 0;
  while (true) {
    const ssize_t got = read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailBy(errno, path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > max_bytes) {
      return InvalidArgument(path.string() + " is longer than " + std::to_string(max_bytes) +
                             " bytes");
    }
    if (size == bytes.size()) bytes.resize(2 * size);
  }
  bytes.resize(size);
  return bytes;
}

Result<bool> FileExists(const std::filesystem::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FailBy(errno, path);
}

}  // namespace reveza
