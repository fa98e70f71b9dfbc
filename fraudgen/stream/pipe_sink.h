// Writes events as lines to standard output or another open descriptor. Waits for a slow reader
// until a stop is requested. If the reader closes the pipe (`| head`), Send() fails and
// reader_gone() is true; SIGPIPE must be ignored. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "common/base/unique_fd.h"
#include "fraudgen/output/text_buffer.h"
#include "fraudgen/stream/event.h"

namespace reveza::fraudgen {

enum class JsonStyle { kCompact, kPretty };

class PipeSink final : public EventSink {
 public:
  // The caller keeps ownership of the descriptor; its flags do not change.
  PipeSink(int file, JsonStyle style, Stop& stop);

  Result<std::size_t> Send(std::span<const Event> events) override;
  Status Flush() override { return failure_ ? Status(std::unexpected(*failure_)) : Status(); }
  uint64_t acknowledged() const override { return acknowledged_; }

  const bool& reader_gone() const { return reader_gone_; }

 private:
  Result<std::size_t> Drain();
  std::unexpected<Error> SetError(int error);

  int file_;
  UniqueFd without_blocking_;  // the same pipe or terminal, reopened
  JsonStyle style_;
  Stop& stop_;
  TextBuffer text_;
  std::vector<std::size_t> ends_;  // of the events in text_
  uint64_t acknowledged_ = 0;
  bool reader_gone_ = false;
  std::optional<Error> failure_;
};

// Appends compact JSON, indented by two blanks per level, without a final line break.
void AppendPretty(std::string_view json, TextBuffer& text);

}  // namespace reveza::fraudgen
