// Where the rows of a run are, and writers of them in each format. Functions are pure or touch only
// `folder`.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "phi/output/row_writer.h"

namespace reveza::phi {

enum class RowFormat { kCsv, kParquet };

// Returns "csv" or "parquet".
std::string_view NameOf(RowFormat format);
// Parses a name. Returns kInvalidArgument for unknown names and kUnavailable for Parquet in builds
// without Arrow.
Result<RowFormat> ParseRowFormat(std::string_view name);

// Returns `folder`/rows.csv, or the folder rows.parquet.
std::filesystem::path RowsPath(const std::filesystem::path& folder, RowFormat format);
// Returns the path of the rows in `folder`, in any format, if there are any. Returns an error if
// their existence cannot be determined.
Result<std::optional<std::filesystem::path>> FindRows(const std::filesystem::path& folder);
// Removes rows of every format, including files that a killed writer left unfinished. Keeps other
// files, also inside rows.parquet. Returns kPermission if something cannot be removed.
Status RemoveRows(const std::filesystem::path& folder);

// Opens `folder`/rows.csv, or rows.parquet/part-000000.parquet and so on (one file per Sync() with
// new rows), and truncates existing rows to `place`. Errors: the folder is not writable, or holds
// fewer rows than `place` (kIncompatible).
Result<std::unique_ptr<RowWriter>> OpenRows(const std::filesystem::path& folder, RowFormat format,
                                            const RowLayout& layout, const RowPosition& place);

// Returns a writer of CSV rows to standard output; Sync() flushes.
std::unique_ptr<RowWriter> RowsOnStandardOutput(const RowLayout& layout);

// Appends the CSV lines of `rows` to `to`.
void AppendCsv(const RowLayout& layout, const RowBlock& rows, std::string& to);
// Returns the CSV header line.
std::string HeadingOf(const RowLayout& layout);

}  // namespace reveza::phi
