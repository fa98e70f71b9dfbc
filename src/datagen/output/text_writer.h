// JSON lines, JSON, CSV and TSV. A null is `null` in JSON, where every record has every key, and an
// empty field in CSV and TSV, where an empty text is "". Times in JSON carry a zone if asked for.
#pragma once

#include <memory>

#include "base/error.h"
#include "datagen/output/byte_sink.h"
#include "datagen/output/table_writer.h"

namespace reveza::datagen {

// `options.format` is one of the four. What MakeTableWriter gives for them.
Result<std::unique_ptr<TableWriter>> MakeTextWriter(const TableOptions& options, const Table& table,
                                                    ByteSink& sink);

}  // namespace reveza::datagen
