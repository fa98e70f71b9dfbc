// Rows as Parquet files. Only in builds with Arrow (common/table/arrow.h).
#pragma once

#include <filesystem>
#include <memory>

#include "common/base/error.h"
#include "phi/output/row_writer.h"

namespace reveza::phi {

// Opens `parts`, a folder of files part-000000.parquet and so on, one per Sync() with new rows, and
// removes the files after `place`. Errors: the folder is not writable, or lacks a file before
// `place` (kIncompatible).
Result<std::unique_ptr<RowWriter>> OpenParquetRows(const std::filesystem::path& parts,
                                                   const RowLayout& layout,
                                                   const RowPosition& place);

}  // namespace reveza::phi
