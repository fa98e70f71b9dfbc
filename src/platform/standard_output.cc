#include "platform/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "base/unique_fd.h"

namespace reveza::platform {

Error StandardOutputError(int error) {
  const std::string reason = std::generic_category().message(error);
  switch (error) {
    case EPIPE:
      return {Error::Code::kUnavailable, "nobody reads standard output any more"};
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
  if (lost) return Fail(Error::Code::kUnavailable, "not all reached standard output");
  // Some file systems say only when it is closed that something was not written; to close a copy is
  // enough.
  UniqueFd copy(dup(STDOUT_FILENO));
  if (auto closed = copy.Close(); !closed) {
    return std::unexpected(StandardOutputError(closed.error()));
  }
  return {};
}

void HoldStandardPlaces() {
  // The lowest free number is the one that open() takes.
  for (const int place : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(place, F_GETFD) == -1 && errno == EBADF) open("/dev/null", O_RDONLY);
  }
}

}  // namespace reveza::platform
