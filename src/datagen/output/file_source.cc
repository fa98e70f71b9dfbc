#include "datagen/output/file_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace reveza::datagen {
namespace {

std::unexpected<Error> CannotRead(int error, const std::string& path) {
  const bool gone = error == ENOENT || error == ENOTDIR;
  return Fail(gone ? Error::Code::kNotFound : Error::Code::kUnavailable,
              fmt::format("cannot read {}: {}", path, std::generic_category().message(error)));
}

}  // namespace

Result<std::unique_ptr<ByteSource>> FileSource::Open(const std::filesystem::path& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0) return CannotRead(errno, path.string());
  return std::make_unique<FileSource>(std::move(file), static_cast<uint64_t>(status.st_size),
                                      path.string());
}

Result<std::size_t> FileSource::ReadAt(uint64_t position, std::span<char> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got =
        pread(file_.get(), to.data() + done, to.size() - done, static_cast<off_t>(position + done));
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(errno, path_);
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace reveza::datagen
