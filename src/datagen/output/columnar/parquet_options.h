// How tables are written as Parquet: what was measured to be quick and small. Safe from any thread.
#pragma once

#include <arrow/memory_pool.h>
#include <parquet/properties.h>

#include <memory>

#include "base/error.h"
#include "datagen/output/columnar/arrow_columns.h"
#include "datagen/output/table_writer.h"

namespace reveza::datagen {

// So many rows are encoded at a time.
inline constexpr int64_t kParquetBatchRows = 8'192;

// Where Arrow takes its memory: what keeps least of it, which is not its default.
arrow::MemoryPool* MemoryOfWriters();

// Refuses a level that the codec does not have, and row groups of no rows.
Status CheckParquetOptions(const TableOptions& options);

std::shared_ptr<parquet::WriterProperties> ParquetProperties(const TableOptions& options,
                                                             const ArrowLayout& layout);

}  // namespace reveza::datagen
