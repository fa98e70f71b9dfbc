#include "common/platform/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "common/base/unique_fd.h"

namespace reveza::platform {

Error StandardOutputError(int error) {
  const std::string reason = std::generic_category().message(error);
  switch (error) {
    case EPIPE:
      return {Error::Code::kUnavailable, "the reader of standard output has closed it"};
    case EBADF:
      return {Error::Code::kUnavailable, "standard output is closed"};
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return {Error::Code::kExhausted,
              "cannot write to standard output: " + reason + "; make room"};
    case EACCES:
    case EPERM:
    case EROFS:
      return {Error::Code::kPermission, "cannot write to standard output: " + reason};
    default:
      return {Error::Code::kUnavailable, "cannot write to standard output: " + reason};
  }
}

Status WriteStandardOutput(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return std::unexpected(StandardOutputError(errno));
}

Status FlushStandardOutput() {
  const bool lost = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) != 0) return std::unexpected(StandardOutputError(errno));
  if (lost) return Fail(Error::Code::kUnavailable, "an earlier write to standard output failed");
  // Some file systems report failed writes only on close; closing a duplicate suffices.
  UniqueFd copy(dup(STDOUT_FILENO));
  if (auto closed = copy.Close(); !closed) {
    return std::unexpected(StandardOutputError(closed.error()));
  }
  return {};
}

void ReserveStandardDescriptors() {
  // open() returns the lowest free descriptor.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) open("/dev/null", O_RDONLY);
  }
}

}  // namespace reveza::platform
