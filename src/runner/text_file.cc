#include "runner/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/unique_fd.h"

namespace reveza::runner {
namespace {

std::unexpected<Error> CannotRead(const std::filesystem::path& path, int reason) {
  const auto code = reason == ENOENT || reason == ENOTDIR   ? Error::Code::kNotFound
                    : reason == EACCES || reason == EPERM   ? Error::Code::kPermission
                    : reason == EISDIR || reason == ENOTSUP ? Error::Code::kInvalidArgument
                                                            : Error::Code::kUnavailable;
  return Fail(code, fmt::format("cannot read {}: {}", path.string(), std::strerror(reason)));
}

}  // namespace

Result<std::string> ReadTextFile(const std::filesystem::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return CannotRead(path, errno);
  std::string text;
  std::array<char, 64 * kKiB> piece;
  for (;;) {
    const ssize_t length = read(file.get(), piece.data(), piece.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return CannotRead(path, errno);
    if (length == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(length));
    if (text.size() > kGiB) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("{} is longer than {} bytes", path.string(), kGiB));
    }
  }
}

}  // namespace reveza::runner
