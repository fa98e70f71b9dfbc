// Gathers rows of batches as the columns of an Arrow record batch, and says which schema they have.
// Not safe from several threads.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datagen/batch.h"
#include "datagen/output/table_writer.h"
#include "datagen/schema.h"

namespace reveza::datagen {

// One column of the table on its way to Arrow.
struct ArrowColumn {
  // What becomes of the numbers of a ColumnValues.
  enum class Values { kText, kCodes, kFlags, kWhole, kDecimal128, kFloat, kDays };

  const Column* column = nullptr;
  std::size_t index = 0;  // in the table
  Values values = Values::kText;
  std::string path;  // address.city where it is nested, else address_city
  std::shared_ptr<arrow::DataType> type;
  std::shared_ptr<arrow::Field> field;
  std::shared_ptr<arrow::Array> dictionary;  // of a category
};

// The schema of a table, from which its columns are found again.
struct ArrowLayout {
  ArrowLayout(const TableOptions& options, const Table& table);

  std::vector<ArrowColumn> columns;  // in the order of the table
  std::shared_ptr<arrow::Schema> schema;
  bool nested;
};

class ArrowColumns {
 public:
  // Holds up to `most_rows` rows at a time.
  ArrowColumns(const ArrowLayout& layout, std::size_t most_rows);

  std::size_t rows() const { return rows_; }

  // Adds `count` rows from `first` on; there must be room for them.
  void Append(const Batch& batch, std::size_t first, std::size_t count);

  // What was added, valid until Clear. Nothing of it depends on how the rows were divided, nor on
  // what stands where a null is.
  std::shared_ptr<arrow::RecordBatch> Finish();
  void Clear();

 private:
  // The memory of one column. Which of the vectors is in use depends on ArrowColumn::Values.
  struct Gathered {
    std::vector<uint8_t> present;  // a byte for each row, and then a bit
    std::vector<uint8_t> present_bits;
    std::vector<uint8_t> flags;
    std::vector<uint8_t> flag_bits;
    std::vector<int16_t> codes;
    std::vector<int64_t> whole;  // also the halves of a 128-bit decimal
    std::vector<int32_t> days;
    std::vector<double> floats;
    std::vector<int32_t> offsets;
    std::string bytes;
  };

  static void AppendNumbers(const ArrowColumn& column, Gathered& gathered,
                            const ColumnValues& values, std::size_t first, std::size_t count);
  static void AppendText(Gathered& gathered, const ColumnValues& values, std::size_t first,
                         std::size_t count);
  std::shared_ptr<arrow::Array> FinishColumn(const ArrowColumn& column, Gathered& gathered) const;

  const ArrowLayout& layout_;
  std::size_t rows_ = 0;
  std::vector<Gathered> gathered_;
};

}  // namespace reveza::datagen
