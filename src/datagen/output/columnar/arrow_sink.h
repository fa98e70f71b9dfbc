// A ByteSink as Arrow wants to write to it, and Arrow's errors as ours. Not safe from several
// threads.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "datagen/output/byte_sink.h"

namespace reveza::datagen {

class ArrowSink final : public arrow::io::OutputStream {
 public:
  // `sink` must outlive it.
  explicit ArrowSink(ByteSink& sink) : sink_(sink) { set_mode(arrow::io::FileMode::WRITE); }

  arrow::Status Write(const void* data, int64_t size) override;
  using arrow::io::OutputStream::Write;
  arrow::Status Close() override;
  arrow::Result<int64_t> Tell() const override { return written_; }
  bool closed() const override { return closed_; }

  // From now on nothing reaches the sink: what Arrow writes when an unfinished writer goes is void.
  void Abandon();

  // What went wrong, in the sink's own words if it was the sink.
  Error ErrorOf(const arrow::Status& status) const;

 private:
  ByteSink& sink_;
  int64_t written_ = 0;
  bool closed_ = false;
  std::optional<Error> error_;  // after one there is no more
};

}  // namespace reveza::datagen
