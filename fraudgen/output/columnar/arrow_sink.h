// What the writers of Parquet and of Arrow files share. Not thread-safe unless stated otherwise.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/table/arrow_status.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/table_writer.h"

namespace reveza::fraudgen {

// Returns the memory pool of the writers. Thread-safe.
arrow::MemoryPool* WriterPool();

// Makes a writer of Parquet files.
Result<std::unique_ptr<TableWriter>> MakeParquetWriter(const TableOptions& options,
                                                       const Table& table, ByteSink& sink);

// Adapts a ByteSink to Arrow, and Arrow's errors to Error.
class ArrowSink final : public arrow::io::OutputStream {
 public:
  // `sink` must outlive it.
  explicit ArrowSink(ByteSink& sink) : sink_(sink) { set_mode(arrow::io::FileMode::WRITE); }

  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, int64_t size) override {
    auto appended = sink_.Append(
        std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size)));
    if (!appended) {
      error_ = std::move(appended).error();
      return arrow::Status::IOError(error_->message);
    }
    written_ += size;
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return written_; }
  bool closed() const override { return closed_; }

  // Calls a function of Arrow. Returns the sink's error if it failed, else Arrow's.
  template <typename Call>
  Status Guarded(const Call& call) const {
    const arrow::Status status = CatchArrow(call);
    if (status.ok()) return {};
    if (error_) return std::unexpected(*error_);
    return Fail(status.IsOutOfMemory() ? Error::Code::kExhausted : Error::Code::kInternal,
                "could not write the file: {}", status.ToString());
  }

 private:
  ByteSink& sink_;
  int64_t written_ = 0;
  bool closed_ = false;
  std::optional<Error> error_;  // of `sink_`
};

}  // namespace reveza::fraudgen
