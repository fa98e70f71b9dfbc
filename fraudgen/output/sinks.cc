#include "fraudgen/output/sinks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <new>
#include <string>
#include <system_error>

#include "common/platform/standard_output.h"

namespace reveza::fraudgen {
namespace {

std::string Text(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Status FailBy(int error, int file, const std::string& name) {
  if (file == STDOUT_FILENO) return std::unexpected(platform::StandardOutputError(error));
  const Error::Code code = error == ENOSPC || error == EDQUOT || error == EFBIG
                               ? Error::Code::kExhausted
                               : Error::Code::kInternal;
  return Fail(code, "could not write to " + name + ": " + std::generic_category().message(error));
}

std::unexpected<Error> CannotRead(int error, const std::string& path) {
  const bool gone = error == ENOENT || error == ENOTDIR;
  const bool refused = error == EACCES || error == EPERM;
  return Fail(gone      ? Error::Code::kNotFound
              : refused ? Error::Code::kPermission
                        : Error::Code::kUnavailable,
              "cannot read {}: {}", path, std::generic_category().message(error));
}

}  // namespace

void HashingSink::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

HashingSink::HashingSink(ByteSink& next) : next_(next), state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

Status HashingSink::Append(std::string_view bytes) {
  auto appended = next_.Append(bytes);
  if (!appended) return appended;
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  bytes_ += bytes.size();
  return {};
}

std::string HashingSink::Hash() const { return Text(XXH3_128bits_digest(state_.get())); }

std::string HashOf(std::string_view bytes) {
  return Text(XXH3_128bits(bytes.data(), bytes.size()));
}

Status StdoutSink::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const int error = errno;
    if (error == EPIPE) {
      reader_gone_ = true;
      return Fail(Error::Code::kUnavailable, name_ + " was closed by its reader");
    }
    if (error == EAGAIN) {
      // The descriptor is non-blocking.
      pollfd wait{.fd = file_, .events = POLLOUT, .revents = 0};
      poll(&wait, 1, -1);
    } else if (error != EINTR) {
      return FailBy(error, file_, name_);
    }
  }
  return {};
}

Result<FileSink> FileSink::Create(std::filesystem::path path) {
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(std::move(path)));
  return FileSink(std::move(file));
}

Status FileSink::Append(std::string_view bytes) {
  if (bytes.size() < kDirectBytes) {
    if (buffer_.capacity() == 0) buffer_.reserve(kBufferBytes + kDirectBytes);
    buffer_ += bytes;
    return buffer_.size() < kBufferBytes ? Status() : Flush();
  }
  RETURN_IF_ERROR(Flush());
  return file_.Append(bytes);
}

Status FileSink::Finish() {
  RETURN_IF_ERROR(Flush());
  return file_.Finish();
}

Status FileSink::Flush() {
  auto appended = file_.Append(buffer_);
  buffer_.clear();
  return appended;
}

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

}  // namespace reveza::fraudgen
