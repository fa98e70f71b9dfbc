#include "datagen/output/arrow_writer.h"

#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <arrow/util/config.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "datagen/output/columnar/arrow_columns.h"
#include "datagen/output/columnar/arrow_sink.h"
#include "datagen/output/columnar/parquet_options.h"

namespace reveza::datagen {
namespace {

// The wheel has it inside and does not tell; a test looks for it there.
constexpr std::string_view kZstdVersion = "1.5.7";
static_assert(std::string_view(ARROW_VERSION_STRING) == "26.0.1", "look up its zstd");

// So many rows are one batch of an Arrow file.
constexpr int64_t kArrowBatchRows = 65'536;

// Cuts the rows into batches at fixed places, so that the bytes do not depend on how they came.
class ColumnarWriter : public TableWriter {
 public:
  Status Write(const Batch& batch) final {
    for (std::size_t first = 0; first < batch.rows();) {
      const std::size_t count = std::min(batch.rows() - first, rows_at_once_ - columns_.rows());
      columns_.Append(batch, first, count);
      first += count;
      if (columns_.rows() == rows_at_once_) {
        if (auto flushed = Flush(); !flushed) return flushed;
      }
    }
    return {};
  }

  Status Finish() final {
    if (columns_.rows() > 0) {
      if (auto flushed = Flush(); !flushed) return flushed;
    }
    return Guarded([this] { return Close(); });
  }

 protected:
  ColumnarWriter(const TableOptions& options, const Table& table, ByteSink& sink,
                 int64_t rows_at_once)
      : layout_(options, table),
        rows_at_once_(static_cast<std::size_t>(rows_at_once)),
        columns_(layout_, rows_at_once_),
        sink_(std::make_shared<ArrowSink>(sink)) {}

  const ArrowLayout& layout() const { return layout_; }
  const std::shared_ptr<ArrowSink>& sink() const { return sink_; }

  // Part of Arrow throws.
  template <typename Call>
  Status Guarded(const Call& call) const {
    arrow::Status status;
    try {
      status = call();
    } catch (const std::exception& error) {
      status = arrow::Status::UnknownError(error.what());
    }
    if (status.ok()) return {};
    return std::unexpected(sink_->ErrorOf(status));
  }

  virtual arrow::Status WriteRows(const arrow::RecordBatch& rows) = 0;
  virtual arrow::Status Close() = 0;

 private:
  Status Flush() {
    auto written = Guarded([this] { return WriteRows(*columns_.Finish()); });
    columns_.Clear();
    return written;
  }

  ArrowLayout layout_;
  std::size_t rows_at_once_;
  ArrowColumns columns_;
  std::shared_ptr<ArrowSink> sink_;
};

class ParquetWriter final : public ColumnarWriter {
 public:
  ParquetWriter(const TableOptions& options, const Table& table, ByteSink& sink)
      : ColumnarWriter(options, table, sink, std::min(kParquetBatchRows, options.row_group_rows)) {}
  // An unfinished Parquet writer writes its footer when it goes.
  ~ParquetWriter() override { sink()->Abandon(); }

  Status Open(const TableOptions& options) {
    return Guarded([&]() -> arrow::Status {
      const auto arrow_properties =
          parquet::ArrowWriterProperties::Builder().store_schema()->build();
      ARROW_ASSIGN_OR_RAISE(writer_, parquet::arrow::FileWriter::Open(
                                         *layout().schema, MemoryOfWriters(), sink(),
                                         ParquetProperties(options, layout()), arrow_properties));
      return arrow::Status::OK();
    });
  }

 private:
  // A row group that is full is ended in the middle of a batch, and the next one begun.
  arrow::Status WriteRows(const arrow::RecordBatch& rows) override {
    return writer_->WriteRecordBatch(rows);
  }
  arrow::Status Close() override { return writer_->Close(); }

  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

class ArrowFileWriter final : public ColumnarWriter {
 public:
  ArrowFileWriter(const TableOptions& options, const Table& table, ByteSink& sink)
      : ColumnarWriter(options, table, sink, kArrowBatchRows) {}
  ~ArrowFileWriter() override { sink()->Abandon(); }

  Status Open(const TableOptions& options) {
    return Guarded([&]() -> arrow::Status {
      auto ipc = arrow::ipc::IpcWriteOptions::Defaults();
      ipc.use_threads = false;
      ipc.memory_pool = MemoryOfWriters();
      if (options.codec == Codec::kZstd) {
        ARROW_ASSIGN_OR_RAISE(ipc.codec,
                              arrow::util::Codec::Create(arrow::Compression::ZSTD, options.level));
      }
      ARROW_ASSIGN_OR_RAISE(writer_, arrow::ipc::MakeFileWriter(sink(), layout().schema, ipc));
      return arrow::Status::OK();
    });
  }

 private:
  arrow::Status WriteRows(const arrow::RecordBatch& rows) override {
    return writer_->WriteRecordBatch(rows);
  }
  arrow::Status Close() override { return writer_->Close(); }

  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

template <typename Writer>
Result<std::unique_ptr<TableWriter>> Open(const TableOptions& options, const Table& table,
                                          ByteSink& sink) {
  auto writer = std::make_unique<Writer>(options, table, sink);
  if (auto opened = writer->Open(options); !opened) {
    return std::unexpected(std::move(opened).error());
  }
  return writer;
}

}  // namespace

bool HaveArrow() { return true; }
std::string_view ArrowVersion() { return ARROW_VERSION_STRING; }
std::string_view ZstdVersion() { return kZstdVersion; }

Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink) {
  if (auto checked = CheckParquetOptions(options); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  if (options.format == Format::kParquet) return Open<ParquetWriter>(options, table, sink);
  if (options.codec != Codec::kZstd && options.codec != Codec::kNone) {
    return Fail(Error::Code::kInvalidArgument,
                "Arrow files are compressed by zstd or not at all; take zstd or none");
  }
  return Open<ArrowFileWriter>(options, table, sink);
}

void ReleaseWriterMemory() { MemoryOfWriters()->ReleaseUnused(); }

}  // namespace reveza::datagen
