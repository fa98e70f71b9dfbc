// Files on disk, standard output, and sinks that hash and queue. Not thread-safe, except FileSource
// and PartBudget.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/unique_fd.h"
#include "common/platform/output_file.h"
#include "fraudgen/output/byte_stream.h"

struct XXH3_state_s;

namespace reveza::fraudgen {

class HashingSink final : public ByteSink {
 public:
  // `next` must outlive it.
  explicit HashingSink(ByteSink& next);

  // Counts only bytes that `next` accepted.
  Status Append(std::string_view bytes) override;
  Status Finish() override { return next_.Finish(); }

  uint64_t bytes() const { return bytes_; }
  // XXH3-128 of all bytes so far: 32 hexadecimal digits, as `xxhsum -H2` prints them.
  std::string Hash() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };

  ByteSink& next_;
  std::unique_ptr<XXH3_state_s, Free> state_;
  uint64_t bytes_ = 0;
};

// Returns the same hash of a complete text.
std::string HashOf(std::string_view bytes);

class StdoutSink final : public ByteSink {
 public:
  // The caller keeps ownership of the descriptor.
  explicit StdoutSink(int file = STDOUT_FILENO, std::string name = "standard output")
      : file_(file), name_(std::move(name)) {}

  Status Append(std::string_view bytes) override;
  // Does nothing: Append() is not buffered.
  Status Finish() override { return {}; }

  bool reader_gone() const { return reader_gone_; }

 private:
  int file_;
  std::string name_;  // in messages
  bool reader_gone_ = false;
};

// Writes a file that gets its name only when complete (platform/output_file.h). Buffers small
// pieces to write at least 1 MiB at a time.
class FileSink final : public ByteSink {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  // Pieces of at least this size are written without copying.
  static constexpr std::size_t kDirectBytes = std::size_t{1} << 17;

  static Result<FileSink> Create(std::filesystem::path path);

  Status Append(std::string_view bytes) override;
  Status Finish() override;

 private:
  explicit FileSink(platform::OutputFile file) : file_(std::move(file)) {}

  Status Flush();

  platform::OutputFile file_;
  std::string buffer_;
};

class FileSource final : public ByteSource {
 public:
  // kNotFound: no such file.
  static Result<std::unique_ptr<ByteSource>> Open(const std::filesystem::path& path);

  FileSource(UniqueFd file, uint64_t size, std::string path)
      : file_(std::move(file)), size_(size), path_(std::move(path)) {}

  uint64_t size() const override { return size_; }
  std::size_t step() const override { return std::size_t{1} << 16; }
  Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) override;

 private:
  UniqueFd file_;
  uint64_t size_;
  std::string path_;
};

// Passes bytes to a slower sink in parts of equal size on a separate thread. Append() blocks while
// all parts are full, so memory is bounded. Content of a single part is passed on by Finish()
// itself.

// A pool of upload buffers shared by all files, which bounds their total memory. Thread-safe.
class PartBudget {
 public:
  explicit PartBudget(std::size_t max_parts) : left_(max_parts) {}

  // Waits for a free part and returns an empty buffer, reusing memory if possible. No deadlock:
  // holders send their part without waiting for another.
  std::string Acquire() {
    const MutexLock lock(mutex_);
    while (left_ == 0) changed_.Wait(mutex_);
    --left_;
    if (spare_.empty()) return {};
    std::string part = std::move(spare_.back());
    spare_.pop_back();
    return part;
  }
  void Release(std::string part) {
    part.clear();
    const MutexLock lock(mutex_);
    ++left_;
    // At most as many spare buffers as free parts.
    if (part.capacity() > kInlineCapacity) spare_.push_back(std::move(part));
    changed_.NotifyAll();
  }

 private:
  // Upper bound of the capacity of a string without heap memory.
  static constexpr std::size_t kInlineCapacity = 64;

  Mutex mutex_;
  CondVar changed_;
  std::size_t left_ GUARDED_BY(mutex_);
  std::vector<std::string> spare_ GUARDED_BY(mutex_);
};

// Not thread-safe.
class QueuedSink final : public ByteSink {
 public:
  // Buffers at most `parts` (two or more) parts: one being filled, one being sent, and those
  // queued. All but the first are taken from `budget`, if given, which may be shared.
  QueuedSink(std::unique_ptr<ByteSink> next, std::size_t part_bytes, std::size_t parts,
             std::shared_ptr<PartBudget> budget = nullptr);
  // Waits for the part being sent; drops queued parts.
  ~QueuedSink() override;
  QueuedSink(const QueuedSink&) = delete;
  QueuedSink& operator=(const QueuedSink&) = delete;

  // Returns the error of an earlier part.
  Status Append(std::string_view bytes) override;
  Status Finish() override;

 private:
  Status SendFilling();
  void Loop();
  void DropQueue() REQUIRES(mutex_);

  const std::unique_ptr<ByteSink> next_;
  const std::size_t part_bytes_;
  const std::size_t parts_;
  const std::shared_ptr<PartBudget> budget_;
  std::string filling_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> queue_ GUARDED_BY(mutex_);
  bool sending_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ GUARDED_BY(mutex_);

  std::thread thread_;  // started with the first full part
};

}  // namespace reveza::fraudgen
