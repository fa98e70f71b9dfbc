// Files on disk, standard output, and a sink that hashes. Not thread-safe, except FileSource.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

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

}  // namespace reveza::fraudgen
