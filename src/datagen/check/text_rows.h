// Rows of JSON lines, JSON, CSV and TSV. As OpenRows, for these formats.
#pragma once

#include "datagen/check/row_source.h"

namespace reveza::datagen::check {

Result<std::unique_ptr<RowSource>> OpenJsonRows(const std::filesystem::path& path,
                                                const Table& table, const std::string& file,
                                                ReadFaults& faults);
Result<std::unique_ptr<RowSource>> OpenSeparatedRows(const std::filesystem::path& path,
                                                     char separator, const Table& table,
                                                     const std::string& file, ReadFaults& faults);

}  // namespace reveza::datagen::check
