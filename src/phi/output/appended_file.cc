#include "phi/output/appended_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace reveza::phi {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

std::unexpected<Error> SystemError(const std::filesystem::path& path, std::string_view what,
                                   int error) {
  Error::Code code = Error::Code::kUnavailable;
  if (error == EACCES || error == EPERM || error == EROFS) code = Error::Code::kPermission;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = Error::Code::kExhausted;
  if (error == ENOENT || error == ENOTDIR) code = Error::Code::kNotFound;
  return Fail(code, fmt::format("cannot {} {}: {}{}", what, path.string(), std::strerror(error),
                                code == Error::Code::kExhausted
                                    ? "; make room, then the same command goes on"
                                    : ""));
}

}  // namespace

Result<AppendedFile> AppendedFile::Open(const std::filesystem::path& path, std::uint64_t bytes) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return SystemError(path, "open", errno);
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return SystemError(path, "look at", errno);
  if (static_cast<std::uint64_t>(status.st_size) < bytes) {
    return Fail(
        Error::Code::kIncompatible,
        fmt::format("{} has {} bytes, and its checkpoint says {}; somebody has cut it. Begin "
                    "anew with --fresh",
                    path.string(), status.st_size, bytes));
  }
  const auto end = static_cast<off_t>(bytes);
  if (ftruncate(file.get(), end) != 0 || lseek(file.get(), end, SEEK_SET) != end) {
    return SystemError(path, "cut", errno);
  }
  return AppendedFile(path, std::move(file), bytes);
}

Status AppendedFile::Append(std::string_view text) {
  waiting_.append(text);
  return waiting_.size() < kBuffer ? Status() : Flush();
}

Status AppendedFile::Flush() {
  std::string_view left = waiting_;
  while (!left.empty()) {
    const ssize_t wrote = write(file_.get(), left.data(), left.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return SystemError(path_, "write", errno);
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
  bytes_ += waiting_.size();
  waiting_.clear();
  return {};
}

Result<std::uint64_t> AppendedFile::Settle() {
  if (auto flushed = Flush(); !flushed) return std::unexpected(std::move(flushed).error());
  if (fdatasync(file_.get()) != 0) return SystemError(path_, "write", errno);
  return bytes_;
}

}  // namespace reveza::phi
