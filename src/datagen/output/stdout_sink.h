// Bytes to standard output, or another open descriptor. When its reader goes away (`| head`), that
// is an error (kUnavailable) that ends the work, but no failure: reader_gone() tells it from one.
// The signal that would end the program is held back. Not safe from several threads.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "datagen/output/byte_sink.h"

namespace reveza::datagen {

class StdoutSink final : public ByteSink {
 public:
  // The descriptor stays the caller's, and open.
  explicit StdoutSink(int file = STDOUT_FILENO, std::string name = "standard output")
      : file_(file), name_(std::move(name)) {}

  Status Append(std::string_view bytes) override;
  // Nothing is left to do: what was appended has been written.
  Status Finish() override { return {}; }

  bool reader_gone() const { return reader_gone_; }

 private:
  int file_;
  std::string name_;  // as messages say it
  bool reader_gone_ = false;
};

}  // namespace reveza::datagen
