// Sinks and sources of the bytes of one file: a file, an object, a pipe, memory. Sinks are not
// thread-safe, sources are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace reveza::fraudgen {

class ByteSink {
 public:
  // Without Finish(), no partial file remains under the final name.
  virtual ~ByteSink() = default;

  // After an error, only the destructor may be called.
  virtual Status Append(std::string_view bytes) = 0;
  // Makes the bytes durable under their final name. Called once.
  virtual Status Finish() = 0;
};

// Keeps its bytes.
class MemorySink final : public ByteSink {
 public:
  Status Append(std::string_view bytes) override {
    bytes_ += bytes;
    return {};
  }
  Status Finish() override {
    finished_ = true;
    return {};
  }

  const std::string& bytes() const { return bytes_; }
  bool finished() const { return finished_; }

 private:
  std::string bytes_;
  bool finished_ = false;
};

// Discards its bytes.
class NullSink final : public ByteSink {
 public:
  Status Append(std::string_view) override { return {}; }
  Status Finish() override { return {}; }
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual uint64_t size() const = 0;
  // Returns the preferred number of bytes per read.
  virtual std::size_t step() const = 0;
  // Reads at `position`. Returns the number of bytes read, fewer than requested only at the end.
  virtual Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) = 0;
};

}  // namespace reveza::fraudgen
