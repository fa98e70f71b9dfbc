// Bytes that stay in memory, and bytes that go nowhere. Not safe from several threads.
#pragma once

#include <string>
#include <string_view>

#include "datagen/output/byte_sink.h"

namespace reveza::datagen {

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

class NullSink final : public ByteSink {
 public:
  Status Append(std::string_view) override { return {}; }
  Status Finish() override { return {}; }
};

}  // namespace reveza::datagen
