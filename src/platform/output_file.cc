#include "platform/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace reveza::platform {
namespace {

constexpr int kMostNames = 1000;
constexpr int kLooksPastGap = 4;

std::unexpected<Error> FailBy(int error, const char* what, const std::filesystem::path& path) {
  Error::Code code = Error::Code::kInternal;
  const char* fix = "";
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      code = Error::Code::kExhausted;
      fix = "; make room, or name another folder";
      break;
    case ENOENT:
    case ENOTDIR:
      code = Error::Code::kNotFound;
      fix = "; make the folder first";
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Error::Code::kPermission;
      fix = "; name a folder that you may write to";
      break;
    case EISDIR:
      code = Error::Code::kInvalidArgument;
      fix = "; name a file";
      break;
    default:
      break;
  }
  return Fail(code, std::string("could not ") + what + " " + path.string() + ": " +
                        std::generic_category().message(error) + fix);
}

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::filesystem::path PartialOf(const std::filesystem::path& path, int number) {
  return FolderOf(path) /
         ("." + path.filename().string() + "." + std::to_string(number) + ".partial");
}

enum class Lock { kOurs, kTaken, kUnknown };

// Unlike other locks of `fcntl` it is the open file's, not the process's.
Lock TryLock(int file) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(file, F_OFD_SETLK, &whole) == 0) return Lock::kOurs;
  return errno == EAGAIN || errno == EACCES ? Lock::kTaken : Lock::kUnknown;
}

// Between making the file and locking it, somebody may have taken it for abandoned.
bool Hold(int file) {
  struct stat status{};
  return TryLock(file) != Lock::kTaken && fstat(file, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

int RemoveAbandoned(const std::filesystem::path& path) {
  int removed = 0;
  for (int number = 0; number < kMostNames; ++number) {
    const std::filesystem::path partial = PartialOf(path, number);
    const UniqueFd file(open(partial.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    // Names are taken from the first free one on, so a gap is left only by somebody who is done.
    if (!file && errno == ENOENT && number >= kLooksPastGap) break;
    if (file && TryLock(file.get()) == Lock::kOurs && unlink(partial.c_str()) == 0) ++removed;
  }
  return removed;
}

OutputFile::OutputFile(std::filesystem::path path, std::filesystem::path partial, UniqueFd file)
    : path_(std::move(path)), partial_(std::move(partial)), file_(std::move(file)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::exchange(other.partial_, {})),
      file_(std::move(other.file_)) {}

OutputFile::~OutputFile() {
  if (!partial_.empty()) unlink(partial_.c_str());
}

// Two writers of one file, on two machines even, get two names: each must be new.
Result<OutputFile> OutputFile::Create(std::filesystem::path path) {
  for (int number = 0; number < kMostNames; ++number) {
    std::filesystem::path partial = PartialOf(path, number);
    UniqueFd file(open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file && Hold(file.get())) {
      return OutputFile(std::move(path), std::move(partial), std::move(file));
    }
    if (!file && errno != EEXIST) return FailBy(errno, "create", path);
  }
  return FailBy(EEXIST, "create", path);
}

Status OutputFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_.get(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return FailBy(errno, "write", path_);
    }
  }
  return {};
}

Status OutputFile::Finish() {
  if (fsync(file_.get()) != 0) return FailBy(errno, "write", path_);
  // Some file systems tell of a failed write only when it is closed; the lock is kept for longer.
  const UniqueFd held(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!held) return FailBy(errno, "write", path_);
  if (close(file_.Release()) != 0) return FailBy(errno, "write", path_);
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) return FailBy(errno, "name", path_);
  partial_.clear();
  const UniqueFd folder(open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.get()) != 0) return FailBy(errno, "make last", path_);
  return {};
}

}  // namespace reveza::platform
