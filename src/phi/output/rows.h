// Rows of a run, one a run and cycle, written as they come and never again.
//
// A writer only ever adds. What it has added is safe once it is settled; a program that is started
// again says up to which settled place the rows are right, and what came after is cut off.
// Not safe from several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace reveza::phi {

enum class RowFormat { kCsv, kJsonLines, kParquet };

// "csv", "jsonl", "parquet".
std::string_view NameOf(RowFormat format);
// Errors: an unknown name; Parquet where this build has none.
Result<RowFormat> RowFormatOf(std::string_view name);
// Whether this build can write Parquet, and by which Arrow.
std::optional<std::string> ParquetVersion();

// The columns are run, cycle, hash (16 hexadecimal digits in text), then these.
struct RowLayout {
  std::vector<std::string> states;    // 32-bit floats
  std::vector<std::string> measures;  // 64-bit floats, of which some may not be available
};

inline constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

// Columns of many rows; states and measures have one group a row.
struct RowBlock {
  std::vector<std::uint32_t> run;
  std::vector<std::uint64_t> cycle;
  std::vector<std::uint64_t> hash;
  std::vector<float> states;
  std::vector<double> measures;  // not a number: not available, an empty cell or null

  void Clear();
};

struct RowPlace {
  std::uint64_t bytes = 0;  // of a file of text
  std::uint64_t parts = 0;  // files of Parquet
  std::uint64_t rows = 0;

  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual Status Append(const RowBlock& rows) = 0;
  // Makes what was appended last, also after a power failure.
  virtual Result<RowPlace> Settle() = 0;
};

// `folder`/rows.csv, rows.jsonl, or rows.parquet/part-000000.parquet and so on (one file a Settle
// with rows). Cuts what is there back to `place`. Errors: the folder cannot be written to; less is
// there than `place` says.
Result<std::unique_ptr<RowWriter>> OpenRows(const std::filesystem::path& folder, RowFormat format,
                                            const RowLayout& layout, const RowPlace& place);

// `folder`/rows.csv, rows.jsonl, or the folder rows.parquet.
std::filesystem::path RowsPath(const std::filesystem::path& folder, RowFormat format);
// The rows that lie in `folder` in any format, if there are some: a file, or the folder of Parquet.
// An error where that cannot be seen.
Result<std::optional<std::filesystem::path>> FindRows(const std::filesystem::path& folder);
// Removes rows of every format, with what a writer that was killed left half-written. Other files
// stay, also among the parts of Parquet. Error: something cannot be removed.
Status RemoveRows(const std::filesystem::path& folder);

// The same as text on standard output; Settle flushes.
std::unique_ptr<RowWriter> RowsOnStandardOutput(RowFormat format, const RowLayout& layout);

// The text of rows; the heading of CSV stands before the first.
void AppendText(RowFormat format, const RowLayout& layout, const RowBlock& rows, std::string& to);
std::string HeadingOf(RowFormat format, const RowLayout& layout);

}  // namespace reveza::phi
