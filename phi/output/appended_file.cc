#include "phi/output/appended_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace reveza::phi {
namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 20;

std::unexpected<Error> SystemError(const std::filesystem::path& path, std::string_view what,
                                   int error) {
  Error::Code code = Error::Code::kUnavailable;
  if (error == EACCES || error == EPERM || error == EROFS) code = Error::Code::kPermission;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = Error::Code::kExhausted;
  if (error == ENOENT || error == ENOTDIR) code = Error::Code::kNotFound;
  return Fail(code, "cannot {} {}: {}{}", what, path.string(), std::strerror(error),
              code == Error::Code::kExhausted
                  ? "; free some space, then run the same command to resume"
                  : "");
}

}  // namespace

Result<AppendedFile> AppendedFile::Open(const std::filesystem::path& path, std::uint64_t bytes) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return SystemError(path, "open", errno);
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return SystemError(path, "stat", errno);
  if (static_cast<std::uint64_t>(status.st_size) < bytes) {
    return Fail(
        Error::Code::kIncompatible,
        "{} has {} bytes, but its checkpoint records {}; it was truncated. Start over with --fresh",
        path.string(), status.st_size, bytes);
  }
  const auto end = static_cast<off_t>(bytes);
  if (ftruncate(file.get(), end) != 0 || lseek(file.get(), end, SEEK_SET) != end) {
    return SystemError(path, "truncate", errno);
  }
  return AppendedFile(path, std::move(file), bytes);
}

Status AppendedFile::Append(std::string_view text) {
  buffer_.append(text);
  return buffer_.size() < kBufferSize ? Status() : Flush();
}

Status AppendedFile::Flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t wrote = write(file_.get(), left.data(), left.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return SystemError(path_, "write", errno);
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
  bytes_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<std::uint64_t> AppendedFile::Sync() {
  RETURN_IF_ERROR(Flush());
  if (fdatasync(file_.get()) != 0) return SystemError(path_, "write", errno);
  return bytes_;
}

}  // namespace reveza::phi
