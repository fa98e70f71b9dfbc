// Rows of a file that was written in any of our formats, as batches again. A value that its column
// cannot hold is counted and then a null, so that other checks go on. Not safe from several
// threads.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "datagen/batch.h"
#include "datagen/check/outcome.h"
#include "datagen/output/byte_source.h"
#include "datagen/output/table_writer.h"
#include "datagen/schema.h"

namespace reveza::datagen::check {

// What the files of a table say that the schema does not allow.
struct ReadFaults {
  explicit ReadFaults(const Table& table);

  Tally columns;     // each of the schema's is there, and no other
  Tally nulls;       // only where the schema allows them
  Tally categories;  // only the schema's values
  Tally values;      // numbers are numbers, days days
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  // The next rows, of which there is at least one; false after the last. An error where the file
  // is not of its format. In the batch any column may have nulls.
  virtual Result<bool> Next(Batch& batch) = 0;
};

// `options` as the file was written with. `faults` must outlive the source. `file` is how messages
// call it.
Result<std::unique_ptr<RowSource>> OpenRows(std::unique_ptr<ByteSource> bytes,
                                            const TableOptions& options, const Table& table,
                                            const std::string& file, ReadFaults& faults);

}  // namespace reveza::datagen::check
