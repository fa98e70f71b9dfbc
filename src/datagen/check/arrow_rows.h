// Rows of Parquet and Arrow files. As OpenRows, for these formats; an error in a build without
// Arrow.
#pragma once

#include "datagen/check/row_source.h"

namespace reveza::datagen::check {

Result<std::unique_ptr<RowSource>> OpenArrowRows(std::unique_ptr<ByteSource> bytes,
                                                 const TableOptions& options, const Table& table,
                                                 const std::string& file, ReadFaults& faults);

}  // namespace reveza::datagen::check
