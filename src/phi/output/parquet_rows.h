// Rows as Parquet, where this build has Arrow. Not safe from several threads.
#pragma once

#include <filesystem>
#include <memory>

#include "phi/output/rows.h"

namespace reveza::phi {

Result<std::unique_ptr<RowWriter>> OpenParquetRows(const std::filesystem::path& folder,
                                                   const RowLayout& layout, const RowPlace& place);

}  // namespace reveza::phi
