// Rows of JSON lines, JSON, CSV and TSV. As OpenRows, for these formats.
#pragma once

#include "datagen/check/row_source.h"

namespace reveza::datagen::check {

Result<std::unique_ptr<RowSource>> OpenJsonRows(std::unique_ptr<ByteSource> bytes,
                                                const Table& table, const std::string& file,
                                                ReadFaults& faults);
Result<std::unique_ptr<RowSource>> OpenSeparatedRows(std::unique_ptr<ByteSource> bytes,
                                                     char separator, const Table& table,
                                                     const std::string& file, ReadFaults& faults);

}  // namespace reveza::datagen::check
