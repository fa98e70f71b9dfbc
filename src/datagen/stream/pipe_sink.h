// Events as lines to standard output, or another open descriptor. A reader that takes no more is
// waited for, and Stop ends that. When the reader goes away (`| head`), that is an error that ends
// the work, but no failure: reader_gone() tells it from one; SIGPIPE must not end the program. Not
// safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "datagen/output/text_buffer.h"
#include "datagen/stream/event_sink.h"

namespace reveza::datagen {

enum class Look { kCompact, kPretty };

class PipeSink final : public EventSink {
 public:
  // The descriptor stays the caller's, open and as it is.
  PipeSink(int file, Look look, Stop& stop);

  Result<std::size_t> Send(std::span<const Event> events) override;
  Status Flush() override { return failure_ ? Status(std::unexpected(*failure_)) : Status(); }
  uint64_t confirmed() const override { return confirmed_; }

  const bool& reader_gone() const { return reader_gone_; }

 private:
  Result<std::size_t> Drain();
  std::unexpected<Error> FailBy(int error);

  int file_;
  UniqueFd without_blocking_;  // the same pipe or terminal, opened anew
  Look look_;
  Stop& stop_;
  TextBuffer text_;
  std::vector<std::size_t> ends_;  // of the events in it
  uint64_t confirmed_ = 0;
  bool reader_gone_ = false;
  std::optional<Error> failure_;
};

}  // namespace reveza::datagen
