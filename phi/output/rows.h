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

enum class RowFormat { kCsv, kJsonLines, kParquet };

// Returns "csv", "jsonl" or "parquet".
std::string_view NameOf(RowFormat format);
// Parses a name. Returns kInvalidArgument for unknown names and kUnavailable for Parquet in builds
// without Arrow.
Result<RowFormat> ParseRowFormat(std::string_view name);

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

}  // namespace reveza::phi
