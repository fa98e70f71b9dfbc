#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

std::unexpected<Error> Wrong(const std::string& path, const arrow::Status& status) {
  const auto code = status.IsIOError() ? Error::Code::kNotFound : Error::Code::kInvalidArgument;
  return Fail(code, fmt::format("{}: {}", path, status.message()));
}

template <typename Array>
void Copy(const arrow::Array& array, double* out, std::int64_t stride) {
  const auto& typed = static_cast<const Array&>(array);
  for (std::int64_t i = 0; i < typed.length(); ++i) {
    out[i * stride] = typed.IsNull(i) ? std::numeric_limits<double>::quiet_NaN()
                                      : static_cast<double>(typed.Value(i));
  }
}

// Writes the numbers of one chunk, `stride` doubles apart; false where it has none.
bool CopyNumbers(const arrow::Array& array, double* out, std::int64_t stride) {
  switch (array.type_id()) {
    case arrow::Type::DOUBLE:
      return Copy<arrow::DoubleArray>(array, out, stride), true;
    case arrow::Type::FLOAT:
      return Copy<arrow::FloatArray>(array, out, stride), true;
    case arrow::Type::INT64:
      return Copy<arrow::Int64Array>(array, out, stride), true;
    case arrow::Type::INT32:
      return Copy<arrow::Int32Array>(array, out, stride), true;
    case arrow::Type::INT16:
      return Copy<arrow::Int16Array>(array, out, stride), true;
    case arrow::Type::INT8:
      return Copy<arrow::Int8Array>(array, out, stride), true;
    case arrow::Type::UINT64:
      return Copy<arrow::UInt64Array>(array, out, stride), true;
    case arrow::Type::UINT32:
      return Copy<arrow::UInt32Array>(array, out, stride), true;
    case arrow::Type::UINT16:
      return Copy<arrow::UInt16Array>(array, out, stride), true;
    case arrow::Type::UINT8:
      return Copy<arrow::UInt8Array>(array, out, stride), true;
    case arrow::Type::BOOL:
      return Copy<arrow::BooleanArray>(array, out, stride), true;
    default:
      return false;
  }
}

Result<std::shared_ptr<arrow::Table>> ReadColumns(const std::string& path,
                                                  const ReadOptions& options,
                                                  std::vector<std::size_t>& chosen,
                                                  std::optional<std::size_t>& trials) {
  auto file = arrow::io::ReadableFile::Open(path);
  if (!file.ok()) return Wrong(path, file.status());
  auto reader = parquet::arrow::OpenFile(*file, arrow::default_memory_pool());
  if (!reader.ok()) return Wrong(path, reader.status());
  std::shared_ptr<arrow::Schema> schema;
  if (const auto status = (*reader)->GetSchema(&schema); !status.ok()) return Wrong(path, status);
  const std::vector<std::string> names = schema->field_names();
  auto columns = ChosenColumns(names, path, options);
  if (!columns) return std::unexpected(columns.error());
  chosen = *std::move(columns);
  if (!options.trials.empty()) {
    const auto column = ColumnOf(names, path, options.trials);
    if (!column) return std::unexpected(column.error());
    trials = *column;
  }
  // Nested columns are several in the file, so that numbers would not fit: all are read then.
  auto table = (*reader)->ReadTable();
  if (!table.ok()) return Wrong(path, table.status());
  return *table;
}

// First rows of trials: where the value of the column is another than in the row before.
Status FindTrials(const std::string& path, const arrow::ChunkedArray& column,
                  std::vector<std::int64_t>& trials) {
  std::shared_ptr<arrow::Scalar> before;
  std::int64_t row = 0;
  for (const auto& chunk : column.chunks()) {
    for (std::int64_t i = 0; i < chunk->length(); ++i, ++row) {
      auto value = chunk->GetScalar(i);
      if (!value.ok()) return Wrong(path, value.status());
      if (before && !before->Equals(**value)) trials.push_back(row);
      before = *value;
    }
  }
  return {};
}

}  // namespace

Result<SeriesTable> ReadParquet(const std::string& path, const ReadOptions& options) {
  std::vector<std::size_t> chosen;
  std::optional<std::size_t> trials;
  const auto read = ReadColumns(path, options, chosen, trials);
  if (!read) return std::unexpected(read.error());
  const arrow::Table& columns = **read;
  if (columns.num_rows() == 0) {
    return Fail(Error::Code::kInvalidArgument, path + ": it has no rows");
  }
  SeriesTable table;
  for (const std::size_t column : chosen) {
    table.names.push_back(columns.field(static_cast<int>(column))->name());
  }
  const std::int64_t stride = table.variables();
  table.values.resize(static_cast<std::size_t>(columns.num_rows() * stride));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    double* out = table.values.data() + i;
    for (const auto& chunk : columns.column(static_cast<int>(chosen[i]))->chunks()) {
      if (!CopyNumbers(*chunk, out, stride)) {
        return Fail(Error::Code::kInvalidArgument,
                    fmt::format("{}: column '{}' is of type {}, which has no numbers; choose the "
                                "columns that have with --columns",
                                path, table.names[i], chunk->type()->ToString()));
      }
      out += chunk->length() * stride;
    }
  }
  if (trials) {
    const auto found = FindTrials(path, *columns.column(static_cast<int>(*trials)), table.trials);
    if (!found) return std::unexpected(found.error());
  }
  return table;
}

}  // namespace reveza::phi
