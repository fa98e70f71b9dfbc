#include "datagen/output/columnar/parquet_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "datagen/output/columnar/writer_memory.h"
#include "datagen/output/format.h"

namespace reveza::datagen {
namespace {

using std::string_view_literals::operator""sv;

// The columns that readers look for rows by: keys, time, amount and label. To keep the least and
// the greatest value of all the others would cost a sixth of the time.
constexpr std::array kStatistics = {"account_id"sv, "amount"sv,        "customer_id"sv,
                                    "driver_id"sv,  "is_fraud"sv,      "ride_id"sv,
                                    "timestamp"sv,  "transaction_id"sv};

constexpr int64_t kPageRows = 32'768;
constexpr int64_t kPageBytes = int64_t{1} << 18;

struct Levels {
  int least;
  int most;  // 0: it has none
};

Levels LevelsOf(Codec codec) {
  switch (codec) {
    case Codec::kZstd:
      return {1, 22};
    case Codec::kGzip:
      return {1, 9};
    case Codec::kBrotli:
      return {1, 11};
    case Codec::kNone:
    case Codec::kSnappy:
      break;
  }
  return {0, 0};
}

parquet::Compression::type CompressionOf(Codec codec) {
  switch (codec) {
    case Codec::kSnappy:
      return parquet::Compression::SNAPPY;
    case Codec::kZstd:
      return parquet::Compression::ZSTD;
    case Codec::kGzip:
      return parquet::Compression::GZIP;
    case Codec::kBrotli:
      return parquet::Compression::BROTLI;
    case Codec::kNone:
      break;
  }
  return parquet::Compression::UNCOMPRESSED;
}

// Numbers that are all different compress better when their bytes are sorted by significance.
bool SplitsBytes(const Column& column) {
  return column.type == ColumnType::kDecimal || column.type == ColumnType::kTimestamp;
}

// The encoding leaves a few bits a value. To compress them too takes a tenth of all the time, for a
// sixtieth of the bytes.
bool IsPacked(const Column& column) {
  return column.type == ColumnType::kCategory || column.type == ColumnType::kInteger ||
         column.type == ColumnType::kBoolean;
}

}  // namespace

arrow::MemoryPool* MemoryOfWriters() {
  static WriterMemory memory([]() -> arrow::MemoryPool& {
    arrow::MemoryPool* pool = nullptr;
    if (!arrow::jemalloc_memory_pool(&pool).ok()) return *arrow::system_memory_pool();
    // After how long what is free goes back.
    constexpr int kMilliseconds = 500;
    if (!arrow::jemalloc_set_decay_ms(kMilliseconds).ok()) pool->ReleaseUnused();
    return *pool;
  }());
  return &memory;
}

Status CheckParquetOptions(const TableOptions& options) {
  const Levels levels = LevelsOf(options.codec);
  if (levels.most != 0 && (options.level < levels.least || options.level > levels.most)) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("{} has no level {}; take {} to {}", NameOf(options.codec),
                            options.level, levels.least, levels.most));
  }
  if (options.row_group_rows < 1) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("a row group has at least one row, not {}", options.row_group_rows));
  }
  return {};
}

std::shared_ptr<parquet::WriterProperties> ParquetProperties(const TableOptions& options,
                                                             const ArrowLayout& layout) {
  parquet::WriterProperties::Builder builder;
  if (!options.created_by.empty()) builder.created_by(std::string(options.created_by));
  builder.max_row_group_length(options.row_group_rows);
  builder.memory_pool(MemoryOfWriters());
  // Larger steps and more rows a page than by default, which cost time for nothing; pages of no
  // more bytes than that, for several of them are in memory for each column.
  builder.write_batch_size(kParquetBatchRows);
  builder.max_rows_per_page(kPageRows);
  builder.data_pagesize(kPageBytes);
  builder.disable_write_page_index();
  builder.set_size_statistics_level(parquet::SizeStatisticsLevel::None);
  builder.enable_store_decimal_as_integer();
  // A dictionary of values that are all different is built, grows too large and is thrown away.
  builder.disable_dictionary();
  builder.disable_statistics();
  for (const ArrowColumn& column : layout.columns) {
    if (column.column->type == ColumnType::kCategory || column.column->recurs) {
      builder.enable_dictionary(column.path);
    }
    if (SplitsBytes(*column.column)) {
      builder.encoding(column.path, parquet::Encoding::BYTE_STREAM_SPLIT);
    } else if (column.column->type == ColumnType::kInteger) {
      // Small numbers take a few bits each.
      builder.encoding(column.path, parquet::Encoding::DELTA_BINARY_PACKED);
    }
    if (!IsPacked(*column.column)) {
      builder.compression(column.path, CompressionOf(options.codec));
      if (LevelsOf(options.codec).most != 0) {
        builder.compression_level(column.path, options.level);
      }
    }
    if (std::ranges::find(kStatistics, column.column->name) != kStatistics.end()) {
      builder.enable_statistics(column.path);
    }
  }
  return builder.build();
}

}  // namespace reveza::datagen
