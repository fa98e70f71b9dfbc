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

constexpr std::string_view kMoneyUnit = "BRL";
// Of times, which are local.
constexpr std::string_view kTimeZone = "-03:00";
// Up to this precision, Parquet stores decimals in 64 bits.
constexpr int kDecimalDigits = 18;

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

void SetNumberType(const TableOptions& options, ArrowColumn& column) {
  using Values = ArrowColumn::Values;
  const bool money = column.column->unit == kMoneyUnit;
  if (money && options.money == Money::kCents) {
    column.values = Values::kWhole;
    column.type = arrow::int64();
  } else if (money && options.money == Money::kDecimal) {
    column.values = Values::kDecimal128;
    column.type = arrow::decimal128(kDecimalDigits, column.column->decimal_places);
  } else {
    column.values = Values::kFloat;
    column.type = arrow::float64();
  }
}

void SetType(const TableOptions& options, ArrowColumn& column) {
  using Values = ArrowColumn::Values;
  switch (column.column->type) {
    case ColumnType::kText:
      column.values = Values::kText;
      column.type = arrow::utf8();
      return;
    case ColumnType::kCategory:
      column.values = Values::kCodes;
      column.type = arrow::dictionary(arrow::int16(), arrow::utf8());
      column.dictionary = TextsOf(column.column->values);
      return;
    case ColumnType::kBoolean:
      column.values = Values::kFlags;
      column.type = arrow::boolean();
      return;
    case ColumnType::kInteger:
      column.values = Values::kWhole;
      column.type = arrow::int64();
      return;
    case ColumnType::kDecimal:
      SetNumberType(options, column);
      return;
    case ColumnType::kDate:
      column.values = Values::kDays;
      column.type = arrow::date32();
      return;
    case ColumnType::kTimestamp:
      column.values = Values::kWhole;
      column.type = arrow::timestamp(arrow::TimeUnit::MICRO);
      return;
  }
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

ArrowLayout::ArrowLayout(const TableOptions& options, const Table& table)
    : nested(options.nested), levels(options.format == Format::kParquet) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    ArrowColumn& column = columns.emplace_back();
    column.column = &table.columns[i];
    column.index = i;
    column.path = nested ? std::string(column.column->name) : FlatName(*column.column);
    SetType(options, column);
    // Scaled integers are smaller without a dictionary.
    column.grouped = options.format == Format::kParquet && column.column->recurs &&
                     (column.values == ArrowColumn::Values::kText ||
                      column.values == ArrowColumn::Values::kFloat);
    const bool cents = options.money == Money::kCents && column.column->unit == kMoneyUnit;
    std::shared_ptr<arrow::KeyValueMetadata> metadata;
    if (!column.column->unit.empty()) {
      metadata = arrow::key_value_metadata(
          {"unit"}, {cents ? "BRL / 100" : std::string(column.column->unit)});
    } else if (column.column->type == ColumnType::kTimestamp) {
      metadata = arrow::key_value_metadata({"time_zone"}, {std::string(kTimeZone)});
    }
    column.field = arrow::field(FlatName(*column.column), column.type,
                                column.column->nullable == Nullable::kYes, std::move(metadata));
    fields.push_back(column.field);
  }
  schema = arrow::schema(nested ? NestFields(columns, 0, columns.size(), 0) : fields);
}

}  // namespace reveza::fraudgen
