// Converts rows of batches to columns of an Arrow record batch, and defines their schema.
// Not thread-safe.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fraudgen/output/column_buffers.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

// One column of the table on its way to Arrow.
struct ArrowColumn {
  const Column* column = nullptr;
  std::size_t index = 0;  // in the table
  ColumnForm form = ColumnForm::kText;
  std::string path;  // address.city if nested, else address_city
  std::shared_ptr<arrow::DataType> type;
  std::shared_ptr<arrow::Field> field;
  std::shared_ptr<arrow::Array> dictionary;  // for categories
  // Parquet: written as a GroupDictionary.
  bool grouped = false;
};

// The Arrow schema of a table.
struct ArrowLayout {
  ArrowLayout(const TableOptions& options, const Table& table);

  std::vector<ArrowColumn> columns;  // in the order of the table
  std::shared_ptr<arrow::Schema> schema;
  bool nested;
};

// Of an Arrow file.
class ArrowColumns {
 public:
  // Holds up to `max_rows` rows at a time.
  ArrowColumns(const ArrowLayout& layout, std::size_t max_rows);

  std::size_t rows() const { return rows_; }

  // Adds `count` rows from `first` on; there must be room for them.
  void Append(const Batch& batch, std::size_t first, std::size_t count);

  // Returns the added rows, valid until Clear(). Independent of the division into batches and of
  // the values behind nulls.
  std::shared_ptr<arrow::RecordBatch> Finish();
  void Clear();

 private:
  std::shared_ptr<arrow::Array> MakeArray(std::size_t index);

  const ArrowLayout& layout_;
  std::size_t rows_ = 0;
  std::vector<ColumnBuffers> buffers_;
};

}  // namespace reveza::fraudgen
