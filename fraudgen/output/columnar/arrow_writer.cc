#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>
#include <arrow/util/config.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "fraudgen/output/columnar/arrow_columns.h"
#include "fraudgen/output/columnar/arrow_sink.h"
#include "fraudgen/output/columnar/writer_memory.h"
#include "fraudgen/output/table_writer.h"

namespace reveza::fraudgen {
namespace {

static_assert(std::string_view(ARROW_VERSION_STRING) == "26.0.1", "look up kZstdVersion");

// Rows per record batch of an Arrow file.
constexpr std::size_t kArrowBatchRows = 65'536;

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

// Splits rows at fixed positions, so that the bytes do not depend on the division into batches.
class ArrowFileWriter final : public TableWriter {
 public:
  ArrowFileWriter(const TableOptions& options, const Table& table, ByteSink& sink)
      : layout_(options, table),
        columns_(layout_, kArrowBatchRows),
        sink_(std::make_shared<ArrowSink>(sink)) {}

  Status Open(const TableOptions& options) {
    return sink_->Guarded([&]() -> arrow::Status {
      auto ipc = arrow::ipc::IpcWriteOptions::Defaults();
      ipc.use_threads = false;
      ipc.memory_pool = WriterPool();
      if (options.codec == Codec::kZstd) {
        ARROW_ASSIGN_OR_RAISE(ipc.codec,
                              arrow::util::Codec::Create(arrow::Compression::ZSTD, options.level));
      } else if (options.codec == Codec::kLz4) {
        ARROW_ASSIGN_OR_RAISE(ipc.codec, arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME));
      }
      ARROW_ASSIGN_OR_RAISE(writer_, options.stream
                                         ? arrow::ipc::MakeStreamWriter(sink_, layout_.schema, ipc)
                                         : arrow::ipc::MakeFileWriter(sink_, layout_.schema, ipc));
      return arrow::Status::OK();
    });
  }

  Status Write(const Batch& batch) override {
    for (std::size_t first = 0; first < batch.rows();) {
      const std::size_t count = std::min(batch.rows() - first, kArrowBatchRows - columns_.rows());
      columns_.Append(batch, first, count);
      first += count;
      if (columns_.rows() == kArrowBatchRows) RETURN_IF_ERROR(Flush());
    }
    return {};
  }

  Status Finish() override {
    if (columns_.rows() > 0) RETURN_IF_ERROR(Flush());
    return sink_->Guarded([this] { return writer_->Close(); });
  }

 private:
  Status Flush() {
    auto written = sink_->Guarded([this] { return writer_->WriteRecordBatch(*columns_.Finish()); });
    columns_.Clear();
    return written;
  }

  ArrowLayout layout_;
  ArrowColumns columns_;
  std::shared_ptr<ArrowSink> sink_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

}  // namespace

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

Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink) {
  RETURN_IF_ERROR(CheckParquetOptions(options));
  if (options.format == Format::kParquet) return MakeParquetWriter(options, table, sink);
  if (options.codec != Codec::kZstd && options.codec != Codec::kLz4 &&
      options.codec != Codec::kNone) {
    return InvalidArgument("Arrow files support only zstd, lz4 and none");
  }
  auto writer = std::make_unique<ArrowFileWriter>(options, table, sink);
  RETURN_IF_ERROR(writer->Open(options));
  return writer;
}

void ReleaseArrowMemory() { WriterPool()->ReleaseUnused(); }

}  // namespace reveza::fraudgen
