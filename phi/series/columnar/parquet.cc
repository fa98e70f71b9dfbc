#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "common/table/arrow_status.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

template <typename Array>
void Copy(const arrow::Array& array, double* out, std::int64_t stride) {
  const auto& typed = static_cast<const Array&>(array);
  for (std::int64_t i = 0; i < typed.length(); ++i) {
    out[i * stride] = typed.IsNull(i) ? std::numeric_limits<double>::quiet_NaN()
                                      : static_cast<double>(typed.Value(i));
  }
}

// Copies the values of an array of one of these types. Returns false if it is of another.
template <typename... Arrays>
bool CopyAny(const arrow::Array& array, double* out, std::int64_t stride) {
  return (
      (array.type_id() == Arrays::TypeClass::type_id && (Copy<Arrays>(array, out, stride), true)) ||
      ...);
}

// Writes the values of one chunk, `stride` doubles apart. Returns false if it is not numeric.
bool CopyNumbers(const arrow::Array& array, double* out, std::int64_t stride) {
  return CopyAny<arrow::DoubleArray, arrow::FloatArray, arrow::Int64Array, arrow::Int32Array,
                 arrow::Int16Array, arrow::Int8Array, arrow::UInt64Array, arrow::UInt32Array,
                 arrow::UInt16Array, arrow::UInt8Array, arrow::BooleanArray>(array, out, stride);
}

Result<std::shared_ptr<arrow::Table>> ReadColumns(const std::string& path,
                                                  const ReadOptions& options,
                                                  SelectedColumns& selected) {
  auto file = arrow::io::ReadableFile::Open(path);
  if (!file.ok()) return Fail(Error::Code::kNotFound, path + ": " + file.status().message());
  auto reader = parquet::arrow::OpenFile(*file, arrow::default_memory_pool());
  if (!reader.ok()) return DamagedFile(path, reader.status());
  std::shared_ptr<arrow::Schema> schema;
  if (const auto status = (*reader)->GetSchema(&schema); !status.ok())
    return DamagedFile(path, status);
  const std::vector<std::string> names = schema->field_names();
  ASSIGN_OR_RETURN(selected, SelectColumns(names, path, options));
  // Nested columns occupy several leaf columns, so schema indices would not match: read them all.
  auto table = (*reader)->ReadTable();
  if (!table.ok()) return DamagedFile(path, table.status());
  return *table;
}

// Appends the first rows of trials: those where the value of the column changes.
Status FindTrials(const std::string& path, const arrow::ChunkedArray& column,
                  std::vector<std::int64_t>& trials) {
  std::shared_ptr<arrow::Scalar> before;
  std::int64_t row = 0;
  for (const auto& chunk : column.chunks()) {
    for (std::int64_t i = 0; i < chunk->length(); ++i, ++row) {
      auto value = chunk->GetScalar(i);
      if (!value.ok()) return DamagedFile(path, value.status());
      if (before && !before->Equals(**value)) trials.push_back(row);
      before = *value;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> ParquetColumns(const std::string& path) {
  auto file = arrow::io::ReadableFile::Open(path);
  if (!file.ok()) return Fail(Error::Code::kNotFound, path + ": " + file.status().message());
  auto reader = parquet::arrow::OpenFile(*file, arrow::default_memory_pool());
  if (!reader.ok()) return DamagedFile(path, reader.status());
  std::shared_ptr<arrow::Schema> schema;
  if (const auto status = (*reader)->GetSchema(&schema); !status.ok())
    return DamagedFile(path, status);
  return schema->field_names();
}

Result<SeriesTable> ReadParquet(const std::string& path, const ReadOptions& options) {
  SelectedColumns selected;
  ASSIGN_OR_RETURN(const auto read, ReadColumns(path, options, selected));
  const arrow::Table& columns = *read;
  if (columns.num_rows() == 0) {
    return InvalidArgument(path + ": no rows");
  }
  SeriesTable table;
  table.left_out = selected.left_out;
  for (const std::size_t column : selected.chosen) {
    table.names.push_back(columns.field(static_cast<int>(column))->name());
  }
  const std::int64_t stride = table.variables();
  table.values.resize(static_cast<std::size_t>(columns.num_rows() * stride));
  for (std::size_t i = 0; i < selected.chosen.size(); ++i) {
    double* out = table.values.data() + i;
    for (const auto& chunk : columns.column(static_cast<int>(selected.chosen[i]))->chunks()) {
      if (!CopyNumbers(*chunk, out, stride)) {
        return Fail(
            Error::Code::kInvalidArgument,
            "{}: column '{}' has the non-numeric type {}; select numeric columns with --columns",
            path, table.names[i], chunk->type()->ToString());
      }
      out += chunk->length() * stride;
    }
  }
  if (selected.trials) {
    RETURN_IF_ERROR(
        FindTrials(path, *columns.column(static_cast<int>(*selected.trials)), table.trials));
  }
  LeaveOutCounters(options, table);
  return table;
}

}  // namespace reveza::phi
