// Reads the rows of a file in any output format as batches. Values that are invalid for their
// column are counted and replaced by nulls, so that other checks can continue. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "common/base/error.h"
#include "fraudgen/check/outcome.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen::check {

// Violations of the schema in the files of a table.
struct ReadFaults {
  explicit ReadFaults(const Table& table);

  Tally columns;     // missing or unknown columns
  Tally nulls;       // in non-nullable columns
  Tally categories;  // unknown values
  Tally values;      // malformed values

  // Returns the count of invalid values of a column.
  Tally& InvalidIn(const Column& column) {
    return column.type == ColumnType::kCategory ? categories : values;
  }
  // Counts rows as checked.
  void AddChecked(const Table& table, uint64_t rows);
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  // Reads at least one row; returns false at the end. Any column may have nulls. kInvalidArgument:
  // malformed file.
  virtual Result<bool> Next(Batch& batch) = 0;
};

// Opens a file. `options` are those it was written with; `file` is its name in messages; `faults`
// must outlive the source.
Result<std::unique_ptr<RowSource>> OpenRows(std::unique_ptr<ByteSource> bytes,
                                            const TableOptions& options, const Table& table,
                                            const std::string& file, ReadFaults& faults);

// The same for Parquet and Arrow files without partition keys. Only in builds with Arrow
// (common/table/arrow.h).
Result<std::unique_ptr<RowSource>> OpenArrowRows(std::unique_ptr<ByteSource> bytes,
                                                 const TableOptions& options, const Table& table,
                                                 const std::string& file, ReadFaults& faults);

}  // namespace reveza::fraudgen::check
