#include "fraudgen/output/sinks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <system_error>
#include <utility>

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

QueuedSink::QueuedSink(std::unique_ptr<ByteSink> next, std::size_t part_bytes, std::size_t parts,
                       std::shared_ptr<PartBudget> budget)
    : next_(std::move(next)),
      part_bytes_(part_bytes),
      parts_(parts),
      budget_(budget != nullptr ? std::move(budget) : std::make_shared<PartBudget>(parts)) {}

QueuedSink::~QueuedSink() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    DropQueue();
    closed_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

Status QueuedSink::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    // Sent only when more arrives: a single part needs no thread.
    if (filling_.size() == part_bytes_) RETURN_IF_ERROR(SendFilling());
    const std::string_view piece = bytes.substr(0, part_bytes_ - filling_.size());
    // Reserves the whole part: untouched pages cost nothing, reallocations do.
    if (filling_.size() + piece.size() > part_bytes_ / 8) filling_.reserve(part_bytes_);
    filling_ += piece;
    bytes.remove_prefix(piece.size());
  }
  return {};
}

Status QueuedSink::SendFilling() {
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  std::string next = budget_->Acquire();
  const MutexLock lock(mutex_);
  if (error_) {
    budget_->Release(std::move(next));
    return std::unexpected(*error_);
  }
  queue_.push_back(std::move(filling_));
  changed_.NotifyAll();
  while (!error_ && queue_.size() + (sending_ ? 1 : 0) >= parts_) changed_.Wait(mutex_);
  if (error_) return std::unexpected(*error_);
  filling_ = std::move(next);
  return {};
}

Status QueuedSink::Finish() {
  if (thread_.joinable()) {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
    const MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
  }
  RETURN_IF_ERROR(next_->Append(filling_));
  // Releases the budget early for other files.
  std::string().swap(filling_);
  return next_->Finish();
}

void QueuedSink::DropQueue() {
  for (std::string& part : queue_) budget_->Release(std::move(part));
  queue_.clear();
}

void QueuedSink::Loop() {
  MutexLock lock(mutex_);
  for (;;) {
    while (queue_.empty() && !closed_) changed_.Wait(mutex_);
    if (queue_.empty()) return;
    std::string part = std::move(queue_.front());
    queue_.pop_front();
    sending_ = true;
    lock.Unlock();
    Status appended = next_->Append(part);
    budget_->Release(std::move(part));
    lock.Lock();
    sending_ = false;
    if (!appended) {
      error_ = std::move(appended.error());
      DropQueue();
      changed_.NotifyAll();
      return;
    }
    changed_.NotifyAll();
  }
}

}  // namespace reveza::fraudgen
