// Writes the rows of one table as one file in any format. The bytes depend only on rows and
// options, not on the division into batches. In text, nulls are `null` in JSON, where every record
// has all keys, and empty fields in CSV and TSV, where empty texts are "". Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/error.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen {

enum class Format { kJsonLines, kJson, kCsv, kTsv, kParquet, kArrow };

enum class Codec { kNone, kSnappy, kZstd, kGzip, kBrotli, kLz4 };

// Type of money in Parquet and Arrow; text formats have exact decimals.
enum class Money { kFloat, kDecimal, kCents };

// In the order of the enumerators.
inline constexpr std::array<std::string_view, 6> kFormatNames = {"jsonl", "json",    "csv",
                                                                 "tsv",   "parquet", "arrow"};
inline constexpr std::array<std::string_view, 6> kCodecNames = {"none", "snappy", "zstd",
                                                                "gzip", "brotli", "lz4"};
inline constexpr std::array<std::string_view, 3> kMoneyNames = {"float", "decimal", "cents"};

constexpr std::span<const std::string_view> NamesOf(Format) { return kFormatNames; }
constexpr std::span<const std::string_view> NamesOf(Codec) { return kCodecNames; }
constexpr std::span<const std::string_view> NamesOf(Money) { return kMoneyNames; }

template <typename E>
  requires requires(E value) { NamesOf(value); }
constexpr std::string_view NameOf(E value) {
  return NamesOf(value)[static_cast<std::size_t>(value)];
}

// Returns the enumerator of a name.
template <typename E>
std::optional<E> FromName(std::string_view name) {
  const auto names = NamesOf(E{});
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<E>(found - names.begin());
}

// Returns the highest compression level, from 1; 0: the codec has no levels.
constexpr int MaxLevel(Codec codec) {
  constexpr std::array kMaxLevels = {0, 0, 22, 9, 11, 0};
  return kMaxLevels[static_cast<std::size_t>(codec)];
}

// Returns true for Parquet and Arrow.
constexpr bool IsColumnar(Format format) {
  return format == Format::kParquet || format == Format::kArrow;
}

struct TableOptions {
  Format format = Format::kParquet;
  Codec codec = Codec::kZstd;        // Parquet and Arrow
  Codec text_codec = Codec::kNone;   // text: none, zstd, gzip or lz4
  int level = 1;                     // zstd, gzip and brotli
  int64_t row_group_rows = 131'072;  // Parquet
  Money money = Money::kFloat;       // Parquet and Arrow
  bool nested = false;               // Parquet and Arrow: structs instead of address_city
  bool classic_columns = false;      // CSV and TSV: sorted, nested names (address.city)
  bool stream = false;               // Arrow: a stream of record batches instead of a file
  std::string_view created_by = "";  // Parquet: the program and its version
};

class TableWriter {
 public:
  virtual ~TableWriter() = default;
  virtual Status Write(const Batch& batch) = 0;
  // Writes buffered rows and the end of the file. Does not finish the sink.
  virtual Status Finish() = 0;
};

// Makes a writer. `sink` must outlive it. kInvalidArgument: invalid options; kUnavailable: the
// format is not in this build.
Result<std::unique_ptr<TableWriter>> MakeTableWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink);

// Fails with kUnavailable if this build cannot write such files.
Status CheckSupported(const TableOptions& options);

// Returns memory that destroyed writers cached or left fragmented to the system.
void ReleaseWriterMemory();

// The same for Parquet and Arrow files, and the release of the memory that these writers cached.
// Only in builds with Arrow (common/table/arrow.h).
Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink);
void ReleaseArrowMemory();

}  // namespace reveza::fraudgen
