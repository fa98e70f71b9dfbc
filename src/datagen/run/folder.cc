#include "datagen/run/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/unique_fd.h"
#include "datagen/output/file_sink.h"
#include "datagen/output/file_source.h"
#include "datagen/output/hashing_sink.h"
#include "datagen/output/memory_sink.h"
#include "platform/output_file.h"

namespace reveza::datagen {
namespace {

constexpr std::size_t kReadAtATime = std::size_t{1} << 20;
constexpr uint64_t kSmall = 64 << 20;

std::unexpected<Error> FailBy(int error, const char* what, const std::string& path) {
  Error::Code code = Error::Code::kInternal;
  const char* fix = "";
  if (error == EACCES || error == EPERM || error == EROFS) {
    code = Error::Code::kPermission;
    fix = "; name a folder that you may write to";
  } else if (error == ENOENT) {
    code = Error::Code::kNotFound;
  } else if (error == ENOTDIR || error == EEXIST) {
    code = Error::Code::kInvalidArgument;
    fix = "; it is a file: name a folder";
  } else if (error == ENOSPC || error == EDQUOT) {
    code = Error::Code::kExhausted;
    fix = "; make room, or name another folder";
  }
  return Fail(code, std::string("could not ") + what + " " + path + ": " +
                        std::generic_category().message(error) + fix);
}

// Passes the bytes of a file on. 0: all of them; else what went wrong.
int ReadAll(int file, uint64_t most, ByteSink& to) {
  std::string piece(kReadAtATime, '\0');
  for (uint64_t total = 0; total <= most;) {
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got == 0) return 0;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    total += static_cast<uint64_t>(got);
    if (!to.Append(std::string_view(piece).substr(0, static_cast<std::size_t>(got)))) return EIO;
  }
  return EFBIG;
}

}  // namespace

Status WriteSmall(Destination& destination, std::string_view name, std::string_view text) {
  auto sink = destination.Create(name);
  if (!sink) return std::unexpected(sink.error());
  if (auto written = (*sink)->Append(text); !written) return written;
  return (*sink)->Finish();
}

Status Folder::Prepare() {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) return FailBy(error.value(), "make the folder", path_.string());
  if (access(path_.c_str(), W_OK | X_OK) != 0) {
    return FailBy(errno, "write to the folder", path_.string());
  }
  return {};
}

Result<std::vector<std::string>> Folder::List(std::string_view folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(path_ / folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error) return FailBy(error.value(), "read the folder", PathOf(folder));
  return names;
}

Result<std::optional<std::string>> Folder::ReadSmall(std::string_view name) {
  const UniqueFd file(open((path_ / name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  MemorySink bytes;
  const int error = file ? ReadAll(file.get(), kSmall, bytes) : errno;
  if (error != 0) return FailBy(error, "read", PathOf(name));
  return bytes.bytes();
}

Result<std::optional<StoredFile>> Folder::Look(std::string_view name) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path_ / name, error);
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  if (error) return FailBy(error.value(), "look at", PathOf(name));
  return StoredFile{bytes};
}

Result<std::string> Folder::HashOf(std::string_view name) {
  const UniqueFd file(open((path_ / name).c_str(), O_RDONLY | O_CLOEXEC));
  NullSink nowhere;
  HashingSink hashing(nowhere);
  const int error = file ? ReadAll(file.get(), UINT64_MAX - 1, hashing) : errno;
  if (error != 0) return FailBy(error, "read", PathOf(name));
  return hashing.Hash();
}

Result<std::unique_ptr<ByteSource>> Folder::Open(std::string_view name) {
  return FileSource::Open(path_ / name);
}

void Folder::Clean(std::string_view name) { platform::RemoveAbandoned(path_ / name); }

// That the folders last as the files in them do, their names are written out too.
Status Folder::MakeFolderOf(std::string_view name) {
  std::filesystem::path place = path_;
  const std::filesystem::path folders = std::filesystem::path(name).parent_path();
  for (const auto& part : folders) {
    const std::filesystem::path above = place;
    place /= part;
    if (mkdir(place.c_str(), 0777) != 0) {
      if (errno == EEXIST && std::filesystem::is_directory(place)) continue;
      return FailBy(errno, "make the folder", place.string());
    }
    const UniqueFd folder(open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || fsync(folder.get()) != 0) return FailBy(errno, "write", above.string());
  }
  return {};
}

Result<std::unique_ptr<ByteSink>> Folder::Create(std::string_view name) {
  if (name.contains('/')) {
    if (auto made = MakeFolderOf(name); !made) return std::unexpected(made.error());
  }
  auto sink = FileSink::Create(path_ / name);
  if (!sink) return std::unexpected(sink.error());
  return std::make_unique<FileSink>(*std::move(sink));
}

std::string Folder::PathOf(std::string_view name) const {
  return name.empty() ? path_.string() : (path_ / name).string();
}

}  // namespace reveza::datagen
