// Opens writers of rows: text files, Parquet files or standard output.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "phi/output/rows.h"

namespace reveza::phi {

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
