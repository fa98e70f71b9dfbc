// Writers of result rows, one row per run and cycle.
//
// Writers are append-only. Rows are durable once synced; a resumed process passes the position of
// the last sync, and rows after it are truncated. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace reveza::phi {

enum class RowFormat { kCsv, kJsonLines, kParquet };

// Returns "csv", "jsonl" or "parquet".
std::string_view NameOf(RowFormat format);
// Parses a name. Returns kInvalidArgument for unknown names and kUnavailable for Parquet in builds
// without Arrow.
Result<RowFormat> ParseRowFormat(std::string_view name);

// Columns: run, cycle and hash (16 hexadecimal digits in text formats), followed by these.
struct RowLayout {
  std::vector<std::string> states;    // 32-bit floats
  std::vector<std::string> measures;  // 64-bit floats, nullable
};

inline constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

// A block of rows, by column; `states` and `measures` hold one group of values per row.
struct RowBlock {
  std::vector<std::uint32_t> run;
  std::vector<std::uint64_t> cycle;
  std::vector<std::uint64_t> hash;
  std::vector<float> states;
  std::vector<double> measures;  // kNotAvailable (NaN) becomes an empty cell or null

  void Clear();
};

// How much of the output has been synced.
struct RowPosition {
  std::uint64_t bytes = 0;  // length of the text file
  std::uint64_t parts = 0;  // number of Parquet files
  std::uint64_t rows = 0;

  friend bool operator==(const RowPosition&, const RowPosition&) = default;
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual Status Append(const RowBlock& rows) = 0;
  // Makes all appended rows durable, also across a power failure, and returns the position.
  virtual Result<RowPosition> Sync() = 0;
};

// Returns `folder`/rows.csv, rows.jsonl, or the folder rows.parquet.
std::filesystem::path RowsPath(const std::filesystem::path& folder, RowFormat format);
// Returns the path of the rows in `folder`, in any format, if there are any. Returns an error if
// their existence cannot be determined.
Result<std::optional<std::filesystem::path>> FindRows(const std::filesystem::path& folder);
// Removes rows of every format, including files that a killed writer left unfinished. Keeps other
// files, also inside rows.parquet. Returns kPermission if something cannot be removed.
Status RemoveRows(const std::filesystem::path& folder);

// Opens `folder`/rows.csv, rows.jsonl, or rows.parquet/part-000000.parquet and so on (one file per
// Sync() with new rows), and truncates existing rows to `place`. Errors: the folder is not
// writable, or holds fewer rows than `place` (kIncompatible).
Result<std::unique_ptr<RowWriter>> OpenRows(const std::filesystem::path& folder, RowFormat format,
                                            const RowLayout& layout, const RowPosition& place);

// Returns a writer of text rows to standard output; Sync() flushes.
std::unique_ptr<RowWriter> RowsOnStandardOutput(RowFormat format, const RowLayout& layout);

// Appends the text of `rows` to `to`.
void AppendText(RowFormat format, const RowLayout& layout, const RowBlock& rows, std::string& to);
// Returns the CSV header line; empty for other formats.
std::string HeadingOf(RowFormat format, const RowLayout& layout);

// OpenRows() of Parquet. Only in builds with Arrow (common/table/arrow.h).
Result<std::unique_ptr<RowWriter>> OpenParquetRows(const std::filesystem::path& folder,
                                                   const RowLayout& layout,
                                                   const RowPosition& place);

}  // namespace reveza::phi
