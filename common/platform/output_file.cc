#include "common/platform/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "common/base/error.h"

namespace reveza::platform {
namespace {

constexpr int kMaxNames = 1000;
constexpr int kLooksPastGap = 4;

std::unexpected<Error> FailBy(int reason, const char* what, const std::filesystem::path& path) {
  Error error = SystemError(std::string("could not ") + what + " " + path.string(), reason);
  if (reason == ENOTDIR) error.code = Error::Code::kNotFound;
  const bool no_room = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  if (no_room) error.message += "; make room, or name another folder";
  if (error.code == Error::Code::kNotFound) error.message += "; create the folder first";
  if (error.code == Error::Code::kPermission)
    error.message += "; name a folder that you may write to";
  if (reason == EISDIR) error.message += "; choose a file name";
  return std::unexpected(std::move(error));
}

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::filesystem::path PartialOf(const std::filesystem::path& path, int number) {
  std::string name(1, '.');
  name.append(path.filename().string()).append(1, '.').append(std::to_string(number));
  return FolderOf(path) / name.append(".partial");
}

enum class Lock { kOurs, kTaken, kUnknown };

// An open-file-description lock: it belongs to the open file, not to the process.
Lock TryLock(int file) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(file, F_OFD_SETLK, &whole) == 0) return Lock::kOurs;
  return errno == EAGAIN || errno == EACCES ? Lock::kTaken : Lock::kUnknown;
}

// Between creation and locking, another process may have removed the file as abandoned.
bool Hold(int file) {
  struct stat status{};
  return TryLock(file) != Lock::kTaken && fstat(file, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

int RemoveAbandoned(const std::filesystem::path& path) {
  int removed = 0;
  for (int number = 0; number < kMaxNames; ++number) {
    const std::filesystem::path partial = PartialOf(path, number);
    const UniqueFd file(open(partial.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    // The first free number is used, so a gap is left only by a finished writer.
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

// O_EXCL gives concurrent writers, even on two machines, different names.
Result<OutputFile> OutputFile::Create(std::filesystem::path path) {
  for (int number = 0; number < kMaxNames; ++number) {
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
  // Some file systems report failed writes only on close; a duplicate keeps the lock meanwhile.
  const UniqueFd held(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!held) return FailBy(errno, "write", path_);
  if (close(file_.Release()) != 0) return FailBy(errno, "write", path_);
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) return FailBy(errno, "rename", path_);
  partial_.clear();
  const UniqueFd folder(open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.get()) != 0) return FailBy(errno, "sync", path_);
  return {};
}

}  // namespace reveza::platform
