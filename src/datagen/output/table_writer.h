// Writes the rows of one table into one file of some format. Its bytes depend on the rows and the
// options only, not on how the rows were divided into batches. Not safe from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "datagen/batch.h"
#include "datagen/output/byte_sink.h"

namespace reveza::datagen {

enum class Format { kJsonLines, kJson, kCsv, kTsv, kParquet, kArrow };

enum class Codec { kNone, kSnappy, kZstd, kGzip, kBrotli };

// How money is written in Parquet and Arrow; text formats always have exact decimals.
enum class Money { kFloat, kDecimal, kCents };

struct TableOptions {
  Format format = Format::kParquet;
  Codec codec = Codec::kZstd;        // Parquet and Arrow
  int level = 1;                     // of zstd, gzip and brotli
  int64_t row_group_rows = 65'536;   // Parquet
  Money money = Money::kFloat;       // Parquet and Arrow
  bool nested = false;               // Parquet and Arrow: structs instead of address_city
  bool classic_columns = false;      // CSV and TSV: by the alphabet, with dots (address.city)
  bool zone = false;                 // JSON: times end in -03:00
  std::string_view created_by = "";  // Parquet: the program and its version
};

class TableWriter {
 public:
  virtual ~TableWriter() = default;
  virtual Status Write(const Batch& batch) = 0;
  // Writes what is left and what ends the file. Does not finish the sink.
  virtual Status Finish() = 0;
};

// The sink must outlive the writer.
Result<std::unique_ptr<TableWriter>> MakeTableWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink);

}  // namespace reveza::datagen
