#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>
#include <arrow/util/config.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "common/table/arrow_status.h"
#include "fraudgen/output/columnar/arrow_columns.h"
#include "fraudgen/output/columnar/writer_memory.h"
#include "fraudgen/output/table_writer.h"

namespace reveza::fraudgen {
namespace {

static_assert(std::string_view(ARROW_VERSION_STRING) == "26.0.1", "look up kZstdVersion");

// Rows per record batch of an Arrow file.
constexpr int64_t kArrowBatchRows = 65'536;

// Rows encoded at a time.
constexpr int64_t kParquetBatchRows = 8'192;

// Columns that readers filter by. Statistics of all columns would take a sixth of the time.
constexpr std::array<std::string_view, 8> kStatistics = {
    "account_id", "amount",  "customer_id", "driver_id",
    "is_fraud",   "ride_id", "timestamp",   "transaction_id"};

constexpr int64_t kParquetPageRows = 32'768;
constexpr int64_t kParquetPageBytes = int64_t{1} << 18;

// By Codec.
constexpr std::array kCompressions = {
    parquet::Compression::UNCOMPRESSED, parquet::Compression::SNAPPY, parquet::Compression::ZSTD,
    parquet::Compression::GZIP,         parquet::Compression::BROTLI, parquet::Compression::LZ4};

// Distinct numbers compress better with byte stream split.
bool SplitsBytes(const Column& column) {
  return column.type == ColumnType::kDecimal || column.type == ColumnType::kTimestamp;
}

// Dictionary indices take a few bits each; compressing them costs a tenth of the time and saves a
// sixtieth of the bytes.
bool IsPacked(const Column& column) {
  return column.type == ColumnType::kCategory || column.type == ColumnType::kInteger ||
         column.type == ColumnType::kBoolean;
}

// Returns the memory pool of the writers.
arrow::MemoryPool* WriterPool() {
  static WriterMemory memory([]() -> arrow::MemoryPool& {
    arrow::MemoryPool* pool = nullptr;
    if (!arrow::jemalloc_memory_pool(&pool).ok()) return *arrow::system_memory_pool();
    // Delay before freed memory is returned.
    constexpr int kMilliseconds = 500;
    if (!arrow::jemalloc_set_decay_ms(kMilliseconds).ok()) pool->ReleaseUnused();
    return *pool;
  }());
  return &memory;
}

// Validates the compression level and the size of row groups.
Status CheckParquetOptions(const TableOptions& options) {
  const int max_level = MaxLevel(options.codec);
  if (max_level != 0 && (options.level < 1 || options.level > max_level)) {
    return InvalidArgument("invalid level {} of {}; expected 1 to {}", options.level,
                           NameOf(options.codec), max_level);
  }
  if (options.row_group_rows < 1) {
    return InvalidArgument("invalid row group size {}; expected at least 1",
                           options.row_group_rows);
  }
  return {};
}

std::shared_ptr<parquet::WriterProperties> ParquetProperties(const TableOptions& options,
                                                             const ArrowLayout& layout) {
  parquet::WriterProperties::Builder builder;
  if (!options.created_by.empty()) builder.created_by(std::string(options.created_by));
  builder.max_row_group_length(options.row_group_rows);
  builder.memory_pool(WriterPool());
  // Larger batches and pages than the defaults save time; the page size is limited, since several
  // pages per column are in memory.
  builder.write_batch_size(kParquetBatchRows);
  builder.max_rows_per_page(kParquetPageRows);
  builder.data_pagesize(kParquetPageBytes);
  builder.disable_write_page_index();
  builder.set_size_statistics_level(parquet::SizeStatisticsLevel::None);
  builder.enable_store_decimal_as_integer();
  // A dictionary of distinct values would be built and discarded.
  builder.disable_dictionary();
  builder.disable_statistics();
  for (const ArrowColumn& column : layout.columns) {
    if (column.column->type == ColumnType::kCategory || column.column->recurs) {
      builder.enable_dictionary(column.path);
    }
    if (SplitsBytes(*column.column)) {
      builder.encoding(column.path, parquet::Encoding::BYTE_STREAM_SPLIT);
    } else if (column.column->type == ColumnType::kInteger) {
      // Small integers take a few bits each.
      builder.encoding(column.path, parquet::Encoding::DELTA_BINARY_PACKED);
    }
    if (!IsPacked(*column.column)) {
      builder.compression(column.path, kCompressions[static_cast<std::size_t>(options.codec)]);
      if (MaxLevel(options.codec) != 0) {
        builder.compression_level(column.path, options.level);
      }
    }
    if (std::ranges::find(kStatistics, column.column->name) != kStatistics.end()) {
      builder.enable_statistics(column.path);
    }
  }
  return builder.build();
}

// Adapts a ByteSink to Arrow, and Arrow's errors to Error.
class ArrowSink final : public arrow::io::OutputStream {
 public:
  // `sink` must outlive it.
  explicit ArrowSink(ByteSink& sink) : sink_(sink) { set_mode(arrow::io::FileMode::WRITE); }

  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, int64_t size) override {
    if (!error_) {
      auto appended = sink_.Append(
          std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size)));
      if (appended) {
        written_ += size;
        return arrow::Status::OK();
      }
      error_ = std::move(appended).error();
    }
    return arrow::Status::IOError(error_->message);
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return written_; }
  bool closed() const override { return closed_; }

  // Discards all further writes, such as those of the destructor of an unfinished writer.
  void Abandon() {
    if (!error_) error_ = Error{Error::Code::kInternal, "the file was abandoned"};
  }

  // Returns the sink's error if it failed, else Arrow's.
  Error ErrorOf(const arrow::Status& status) const {
    if (error_) return *error_;
    const Error::Code code =
        status.IsOutOfMemory() ? Error::Code::kExhausted : Error::Code::kInternal;
    return {code, "could not write the file: " + status.ToString()};
  }

 private:
  ByteSink& sink_;
  int64_t written_ = 0;
  bool closed_ = false;
  std::optional<Error> error_;  // the first error; further writes fail
};

// Splits rows at fixed positions, so that the bytes do not depend on the division into batches.
// `Encoder` is the writer of the file format, which the derived class opens.
template <typename Encoder>
class ColumnarWriter : public TableWriter {
 public:
  // The destructor of an unfinished Parquet writer writes a footer.
  ~ColumnarWriter() override { sink_->Abandon(); }

  Status Write(const Batch& batch) final {
    for (std::size_t first = 0; first < batch.rows();) {
      const std::size_t count = std::min(batch.rows() - first, rows_at_once_ - columns_.rows());
      columns_.Append(batch, first, count);
      first += count;
      if (columns_.rows() == rows_at_once_) RETURN_IF_ERROR(Flush());
    }
    return {};
  }

  Status Finish() final {
    if (columns_.rows() > 0) RETURN_IF_ERROR(Flush());
    return Guarded([this] { return writer_->Close(); });
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

  template <typename Call>
  Status Guarded(const Call& call) const {
    const arrow::Status status = CatchArrow(call);
    if (status.ok()) return {};
    return std::unexpected(sink_->ErrorOf(status));
  }

  std::shared_ptr<Encoder> writer_;

 private:
  // Row groups may end in the middle of a batch.
  Status Flush() {
    auto written = Guarded([this] { return writer_->WriteRecordBatch(*columns_.Finish()); });
    columns_.Clear();
    return written;
  }

  ArrowLayout layout_;
  std::size_t rows_at_once_;
  ArrowColumns columns_;
  std::shared_ptr<ArrowSink> sink_;
};

class ParquetWriter final : public ColumnarWriter<parquet::arrow::FileWriter> {
 public:
  ParquetWriter(const TableOptions& options, const Table& table, ByteSink& sink)
      : ColumnarWriter(options, table, sink, std::min(kParquetBatchRows, options.row_group_rows)) {}

  Status Open(const TableOptions& options) {
    return Guarded([&]() -> arrow::Status {
      const auto arrow_properties =
          parquet::ArrowWriterProperties::Builder().store_schema()->build();
      ARROW_ASSIGN_OR_RAISE(writer_, parquet::arrow::FileWriter::Open(
                                         *layout().schema, WriterPool(), sink(),
                                         ParquetProperties(options, layout()), arrow_properties));
      return arrow::Status::OK();
    });
  }
};

class ArrowFileWriter final : public ColumnarWriter<arrow::ipc::RecordBatchWriter> {
 public:
  ArrowFileWriter(const TableOptions& options, const Table& table, ByteSink& sink)
      : ColumnarWriter(options, table, sink, kArrowBatchRows) {}

  Status Open(const TableOptions& options) {
    return Guarded([&]() -> arrow::Status {
      auto ipc = arrow::ipc::IpcWriteOptions::Defaults();
      ipc.use_threads = false;
      ipc.memory_pool = WriterPool();
      if (options.codec == Codec::kZstd) {
        ARROW_ASSIGN_OR_RAISE(ipc.codec,
                              arrow::util::Codec::Create(arrow::Compression::ZSTD, options.level));
      } else if (options.codec == Codec::kLz4) {
        ARROW_ASSIGN_OR_RAISE(ipc.codec, arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME));
      }
      ARROW_ASSIGN_OR_RAISE(
          writer_, options.stream ? arrow::ipc::MakeStreamWriter(sink(), layout().schema, ipc)
                                  : arrow::ipc::MakeFileWriter(sink(), layout().schema, ipc));
      return arrow::Status::OK();
    });
  }
};

template <typename Writer>
Result<std::unique_ptr<TableWriter>> Open(const TableOptions& options, const Table& table,
                                          ByteSink& sink) {
  auto writer = std::make_unique<Writer>(options, table, sink);
  RETURN_IF_ERROR(writer->Open(options));
  return writer;
}

}  // namespace

Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink) {
  RETURN_IF_ERROR(CheckParquetOptions(options));
  if (options.format == Format::kParquet) return Open<ParquetWriter>(options, table, sink);
  if (options.codec != Codec::kZstd && options.codec != Codec::kLz4 &&
      options.codec != Codec::kNone) {
    return InvalidArgument("Arrow files support only zstd, lz4 and none");
  }
  return Open<ArrowFileWriter>(options, table, sink);
}

void ReleaseArrowMemory() { WriterPool()->ReleaseUnused(); }

}  // namespace reveza::fraudgen
