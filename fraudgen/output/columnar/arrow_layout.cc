#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <cassert>
#include <string_view>
#include <utility>

#include "fraudgen/output/columnar/arrow_columns.h"

namespace reveza::fraudgen {
namespace {

std::shared_ptr<arrow::Array> TextsOf(std::span<const std::string_view> values) {
  std::vector<int32_t> offsets = {0};
  std::string bytes;
  for (const std::string_view value : values) {
    bytes += value;
    offsets.push_back(static_cast<int32_t>(bytes.size()));
  }
  return std::make_shared<arrow::StringArray>(static_cast<int64_t>(values.size()),
                                              arrow::Buffer::FromVector(std::move(offsets)),
                                              arrow::Buffer::FromString(std::move(bytes)));
}

std::shared_ptr<arrow::DataType> TypeOf(const Column& column, ColumnForm form) {
  switch (form) {
    case ColumnForm::kText:
      return arrow::utf8();
    case ColumnForm::kCodes:
      return arrow::dictionary(arrow::int16(), arrow::utf8());
    case ColumnForm::kFlags:
      return arrow::boolean();
    case ColumnForm::kWhole:
      if (column.type == ColumnType::kTimestamp) return arrow::timestamp(arrow::TimeUnit::MICRO);
      return arrow::int64();
    case ColumnForm::kDecimal128:
      return arrow::decimal128(kDecimalDigits, column.decimal_places);
    case ColumnForm::kFloat:
      return arrow::float64();
    case ColumnForm::kDays:
      return arrow::date32();
  }
  return nullptr;
}

// Builds the fields [begin, end), whose names share the first `depth` segments, nested by the
// remaining segments.
std::vector<std::shared_ptr<arrow::Field>> NestFields(const std::vector<ArrowColumn>& columns,
                                                      std::size_t begin, std::size_t end,
                                                      std::size_t skip) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (std::size_t i = begin; i < end;) {
    const std::string_view rest = columns[i].column->name.substr(skip);
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) {
      fields.push_back(columns[i].field->WithName(std::string(rest)));
      ++i;
      continue;
    }
    const std::string_view group = columns[i].column->name.substr(0, skip + dot + 1);
    std::size_t last = i;
    while (last < end && columns[last].column->name.starts_with(group)) ++last;
    fields.push_back(arrow::field(std::string(rest.substr(0, dot)),
                                  arrow::struct_(NestFields(columns, i, last, group.size())),
                                  /*nullable=*/false));
    i = last;
  }
  return fields;
}

}  // namespace

ArrowLayout::ArrowLayout(const TableOptions& options, const Table& table) : nested(options.nested) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    ArrowColumn& column = columns.emplace_back();
    column.column = &table.columns[i];
    column.index = i;
    column.path = nested ? std::string(column.column->name) : FlatName(*column.column);
    column.form = FormOf(*column.column, options.money);
    column.type = TypeOf(*column.column, column.form);
    if (column.form == ColumnForm::kCodes) column.dictionary = TextsOf(column.column->values);
    // Scaled integers are smaller without a dictionary.
    column.grouped = options.format == Format::kParquet && column.column->recurs &&
                     (column.form == ColumnForm::kText || column.form == ColumnForm::kFloat);
    std::shared_ptr<arrow::KeyValueMetadata> metadata;
    if (const auto note = NoteOf(*column.column, options.money)) {
      metadata = arrow::key_value_metadata({std::string(note->first)}, {std::string(note->second)});
    }
    column.field = arrow::field(FlatName(*column.column), column.type,
                                column.column->nullable == Nullable::kYes, std::move(metadata));
    fields.push_back(column.field);
  }
  schema = arrow::schema(nested ? NestFields(columns, 0, columns.size(), 0) : fields);
}

}  // namespace reveza::fraudgen
