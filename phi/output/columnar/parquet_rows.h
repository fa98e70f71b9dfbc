#pragma once

#include <filesystem>
#include <memory>

#include "common/base/error.h"
#include "phi/output/rows.h"

namespace reveza::phi {

// OpenRows() of Parquet. Only in builds with Arrow (common/table/arrow.h).
Result<std::unique_ptr<RowWriter>> OpenParquetRows(const std::filesystem::path& folder,
                                                   const RowLayout& layout,
                                                   const RowPosition& place);

}  // namespace reveza::phi
