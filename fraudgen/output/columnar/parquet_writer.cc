#include <arrow/array.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/base64.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include "fraudgen/output/columnar/arrow_columns.h"
#include "fraudgen/output/columnar/arrow_sink.h"
#include "fraudgen/output/columnar/group_dictionary.h"

// Writes row groups column by column, and not with parquet::arrow::FileWriter, which takes no
// dictionary that is complete only at the end of the row group.
namespace reveza::fraudgen {
namespace {

// Rows encoded at a time.
constexpr int64_t kParquetBatchRows = 8'192;

// Columns that readers filter by. Statistics of all columns would take a sixth of the time.
constexpr std::array<std::string_view, 8> kStatistics = {
    "account_id", "amount",  "customer_id", "driver_id",
    "is_fraud",   "ride_id", "timestamp",   "transaction_id"};

constexpr int64_t kParquetPageRows = 32'768;
constexpr int64_t kParquetPageBytes = int64_t{1} << 18;
// Larger than any dictionary of a row group, so that encodings do not depend on the values.
constexpr int64_t kMaxDictionaryBytes = int64_t{1} << 30;

// By Codec.
constexpr std::array kCompressions = {
    parquet::Compression::UNCOMPRESSED, parquet::Compression::SNAPPY, parquet::Compression::ZSTD,
    parquet::Compression::GZIP,         parquet::Compression::BROTLI, parquet::Compression::LZ4};

// Small integers take a few bits each, and times the bits of a day.
bool IsDelta(const Column& column) {
  return column.type == ColumnType::kInteger || column.type == ColumnType::kTimestamp;
}

// Bits that compression does not make fewer: for indices of categories it costs a tenth of the time
// and saves a sixtieth of the bytes.
bool IsPacked(const Column& column) {
  return column.type == ColumnType::kCategory || column.type == ColumnType::kBoolean ||
         IsDelta(column);
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
  // A dictionary of distinct values would be built and discarded; others do not fall back.
  builder.disable_dictionary();
  builder.dictionary_pagesize_limit(kMaxDictionaryBytes);
  builder.disable_statistics();
  for (const ArrowColumn& column : layout.columns) {
    if (column.column->type == ColumnType::kCategory || column.grouped) {
      builder.enable_dictionary(column.path);
    } else if (column.column->type == ColumnType::kDecimal) {
      // Distinct numbers compress better with byte stream split.
      builder.encoding(column.path, parquet::Encoding::BYTE_STREAM_SPLIT);
    } else if (IsDelta(*column.column)) {
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

// The Arrow schema as parquet::arrow stores it, with the dictionaries of categories.
arrow::Result<std::shared_ptr<const arrow::KeyValueMetadata>> SchemaMetadata(
    const arrow::Schema& schema) {
  ARROW_ASSIGN_OR_RAISE(const auto bytes, arrow::ipc::SerializeSchema(schema, WriterPool()));
  return arrow::key_value_metadata({"ARROW:schema"},
                                   {arrow::util::base64_encode(std::string_view(*bytes))});
}

// Splits rows at fixed positions, so that the bytes do not depend on the division into batches.
class ParquetWriter final : public TableWriter {
 public:
  ParquetWriter(const TableOptions& options, const Table& table, ByteSink& sink)
      : layout_(options, table),
        group_rows_(options.row_group_rows),
        rows_at_once_(
            static_cast<std::size_t>(std::min(kParquetBatchRows, options.row_group_rows))),
        columns_(layout_, rows_at_once_),
        sink_(std::make_shared<ArrowSink>(sink)),
        arrow_properties_(parquet::ArrowWriterProperties::Builder().build()),
        context_(WriterPool(), arrow_properties_.get()) {
    for (const ArrowColumn& column : layout_.columns) {
      if (!column.grouped) continue;
      dictionaries_.emplace_back(std::piecewise_construct, std::tuple(column.index),
                                 std::tuple(std::cref(*column.column), options.row_group_rows));
    }
  }
  // The destructor of an unfinished file writes a footer.
  ~ParquetWriter() override { sink_->Abandon(); }
  ParquetWriter(const ParquetWriter&) = delete;
  ParquetWriter& operator=(const ParquetWriter&) = delete;

  Status Open(const TableOptions& options) {
    return sink_->Guarded([&]() -> arrow::Status {
      const auto properties = ParquetProperties(options, layout_);
      std::shared_ptr<parquet::SchemaDescriptor> schema;
      ARROW_RETURN_NOT_OK(parquet::arrow::ToParquetSchema(layout_.schema.get(), *properties,
                                                          *arrow_properties_, &schema));
      ARROW_ASSIGN_OR_RAISE(auto metadata, SchemaMetadata(*layout_.schema));
      file_ = parquet::ParquetFileWriter::Open(
          sink_, std::static_pointer_cast<parquet::schema::GroupNode>(schema->schema_root()),
          properties, std::move(metadata));
      return arrow::Status::OK();
    });
  }

  Status Write(const Batch& batch) override {
    for (std::size_t first = 0; first < batch.rows();) {
      const auto group_left = static_cast<std::size_t>(group_rows_ - rows_in_group_);
      const std::size_t count =
          std::min({batch.rows() - first, rows_at_once_ - columns_.rows(), group_left});
      columns_.Append(batch, first, count);
      for (auto& [index, dictionary] : dictionaries_) {
        dictionary.Append(batch.column(index), first, count);
      }
      first += count;
      rows_in_group_ += static_cast<int64_t>(count);
      const bool full = rows_in_group_ == group_rows_;
      if (full || columns_.rows() == rows_at_once_) RETURN_IF_ERROR(WriteRows());
      if (full) RETURN_IF_ERROR(EndGroup());
    }
    return {};
  }

  Status Finish() override {
    if (columns_.rows() > 0) RETURN_IF_ERROR(WriteRows());
    if (rows_in_group_ > 0) RETURN_IF_ERROR(EndGroup());
    return sink_->Guarded([this] {
      file_->Close();
      return arrow::Status::OK();
    });
  }

 private:
  arrow::Status WriteColumn(std::size_t index, const arrow::Array& array, const int16_t* levels) {
    const bool nullable = layout_.columns[index].column->nullable == Nullable::kYes;
    return group_->column(static_cast<int>(index))
        ->WriteArrow(nullable ? levels : nullptr, nullptr, array.length(), array, &context_,
                     nullable);
  }

  // Encodes the rows of `columns_`.
  Status WriteRows() {
    auto written = sink_->Guarded([this]() -> arrow::Status {
      if (group_ == nullptr) group_ = file_->AppendBufferedRowGroup();
      for (const ArrowColumn& column : layout_.columns) {
        if (column.grouped) continue;
        const auto array = columns_.FinishColumn(column.index);
        ARROW_RETURN_NOT_OK(WriteColumn(column.index, *array, columns_.levels(column.index)));
      }
      return arrow::Status::OK();
    });
    columns_.Clear();
    return written;
  }

  Status EndGroup() {
    auto written = sink_->Guarded([this]() -> arrow::Status {
      for (auto& [index, dictionary] : dictionaries_) {
        const auto array = dictionary.Finish(scratch_);
        ARROW_RETURN_NOT_OK(WriteColumn(index, *array, scratch_.levels.data()));
        dictionary.Clear();
      }
      group_->Close();
      return arrow::Status::OK();
    });
    group_ = nullptr;
    rows_in_group_ = 0;
    return written;
  }

  ArrowLayout layout_;
  int64_t group_rows_;
  std::size_t rows_at_once_;
  ArrowColumns columns_;
  std::deque<std::pair<std::size_t, GroupDictionary>> dictionaries_;  // with index of the column
  GroupDictionary::Scratch scratch_;
  std::shared_ptr<ArrowSink> sink_;
  std::shared_ptr<parquet::ArrowWriterProperties> arrow_properties_;
  parquet::ArrowWriteContext context_;
  std::unique_ptr<parquet::ParquetFileWriter> file_;
  parquet::RowGroupWriter* group_ = nullptr;  // null between row groups
  int64_t rows_in_group_ = 0;
};

}  // namespace

Result<std::unique_ptr<TableWriter>> MakeParquetWriter(const TableOptions& options,
                                                       const Table& table, ByteSink& sink) {
  auto writer = std::make_unique<ParquetWriter>(options, table, sink);
  RETURN_IF_ERROR(writer->Open(options));
  return writer;
}

}  // namespace reveza::fraudgen
