#include "fraudgen/run/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "common/base/unique_fd.h"
#include "common/platform/output_file.h"
#include "fraudgen/output/sinks.h"

namespace reveza::fraudgen {
namespace {

std::unexpected<Error> SystemError(int error, const char* action, const std::string& path) {
  Error::Code code = Error::Code::kInternal;
  const char* fix = "";
  if (error == EACCES || error == EPERM || error == EROFS) {
    code = Error::Code::kPermission;
    fix = "; choose a writable folder";
  } else if (error == ENOENT) {
    code = Error::Code::kNotFound;
  } else if (error == ENOTDIR || error == EEXIST) {
    code = Error::Code::kInvalidArgument;
    fix = "; choose a folder, not a file";
  } else if (error == ENOSPC || error == EDQUOT) {
    code = Error::Code::kExhausted;
    fix = "; free some space or choose another folder";
  }
  return Fail(code, std::string("could not ") + action + " " + path + ": " +
                        std::generic_category().message(error) + fix);
}

}  // namespace

Status Folder::Prepare() {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) return SystemError(error.value(), "create the folder", path_.string());
  if (access(path_.c_str(), W_OK | X_OK) != 0) {
    return SystemError(errno, "write to the folder", path_.string());
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
  if (error) return SystemError(error.value(), "read the folder", PathOf(folder));
  return names;
}

Result<std::optional<StoredFile>> Folder::Stat(std::string_view name) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path_ / name, error);
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  if (error) return SystemError(error.value(), "stat", PathOf(name));
  return StoredFile{bytes};
}

Result<std::unique_ptr<ByteSource>> Folder::Open(std::string_view name) {
  return FileSource::Open(path_ / name);
}

void Folder::RemovePartial(std::string_view name) { platform::RemoveAbandoned(path_ / name); }

// Syncs each parent, so that new folders are as durable as the files in them.
Status Folder::CreateParents(std::string_view name) {
  std::filesystem::path place = path_;
  const std::filesystem::path folders = std::filesystem::path(name).parent_path();
  for (const auto& part : folders) {
    const std::filesystem::path above = place;
    place /= part;
    if (mkdir(place.c_str(), 0777) != 0) {
      if (errno == EEXIST && std::filesystem::is_directory(place)) continue;
      return SystemError(errno, "create the folder", place.string());
    }
    const UniqueFd folder(open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || fsync(folder.get()) != 0) return SystemError(errno, "write", above.string());
  }
  return {};
}

Result<std::unique_ptr<ByteSink>> Folder::Create(std::string_view name) {
  if (name.contains('/')) {
    RETURN_IF_ERROR(CreateParents(name));
  }
  ASSIGN_OR_RETURN(auto sink, FileSink::Create(path_ / name));
  return std::make_unique<FileSink>(std::move(sink));
}

std::string Folder::PathOf(std::string_view name) const {
  return name.empty() ? path_.string() : (path_ / name).string();
}

}  // namespace reveza::fraudgen
