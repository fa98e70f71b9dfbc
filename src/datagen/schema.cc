#include "datagen/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "datagen/schema_coherent.h"
#include "datagen/schema_defects.h"
#include "datagen/schema_graph.h"

namespace reveza::datagen {
namespace {

std::string TypeText(const Column& column) {
  switch (column.type) {
    case ColumnType::kText:
      return "text";
    case ColumnType::kCategory:
      return "category";
    case ColumnType::kBoolean:
      return "boolean";
    case ColumnType::kInteger:
      return "integer";
    case ColumnType::kDecimal:
      return fmt::format("decimal, {} places", column.decimal_places);
    case ColumnType::kDate:
      return "date";
    case ColumnType::kTimestamp:
      return "timestamp, µs";
  }
  return {};
}

void AppendColumn(std::string& text, const Column& column) {
  fmt::format_to(std::back_inserter(text), "| `{}` | {} | {} | {} | {}<br>*{}* | {} |\n",
                 column.name, TypeText(column), column.unit,
                 column.nullable == Nullable::kYes ? "yes" : "", column.english, column.portuguese,
                 column.source);
}

void AppendValues(std::string& text, const Column& column) {
  constexpr std::size_t kMostListed = 30;
  if (column.values.size() > kMostListed) {
    fmt::format_to(std::back_inserter(text), "- `{}`: {} values, from `src/datagen/lists/`\n",
                   column.name, column.values.size());
    return;
  }
  fmt::format_to(std::back_inserter(text), "- `{}`: {}\n", column.name,
                 fmt::join(column.values, ", "));
}

void AppendTable(std::string& text, const Table& table) {
  fmt::format_to(std::back_inserter(text), "\n### {}\n\n{}\n\n*{}*\n\n", table.name, table.english,
                 table.portuguese);
  text += "| column | type | unit | null | meaning | how it is made |\n";
  text += "|---|---|---|---|---|---|\n";
  for (const Column& column : table.columns) AppendColumn(text, column);
  text += "\nCategories:\n\n";
  for (const Column& column : table.columns) {
    if (column.type == ColumnType::kCategory) AppendValues(text, column);
  }
}

}  // namespace

std::span<const Table* const> AllTables() {
  static constexpr std::array<const Table*, 5> kTables = {&kCustomers, &kDevices, &kTransactions,
                                                          &kDrivers, &kRides};
  return kTables;
}

std::string FlatName(const Column& column) {
  std::string name(column.name);
  std::ranges::replace(name, '.', '_');
  return name;
}

std::vector<const Column*> CsvColumns(const Table& table) {
  std::vector<const Column*> columns;
  columns.reserve(table.columns.size());
  for (const Column& column : table.columns) columns.push_back(&column);
  std::ranges::sort(columns, {}, &Column::name);
  return columns;
}

std::string CsvHeader(const Table& table) {
  std::string header;
  for (const Column* column : CsvColumns(table)) {
    if (!header.empty()) header += ',';
    header += column->name;
  }
  return header;
}

std::string SchemaDocument() {
  std::string text =
      "# The tables of the fraud data\n\n"
      "Brazilian bank customers, their devices and their transactions, drivers and their rides, "
      "with\n"
      "labelled fraud, as `fraudgen` makes them. This page is made from the table of columns in\n"
      "`src/datagen/`, "
      "which is where to change it; `ninja -C build fraud_schema` writes it again.\n\n"
      "Times are Brasilia time without a zone. Money is in Brazilian reais, exact to the cent. A\n"
      "name with a dot is a member in nested records (`address.city`) and has an underscore in\n"
      "flat tables (`address_city`). People, numbers and names are made up.\n\n"
      "In JSON each record has each key, and a null is `null`. In CSV and TSV a null is an empty\n"
      "field, and an empty text is `\"\"`; those of the classic model are as the original's:\n"
      "columns by the alphabet, dots in their names, `True` and `False`.\n\n"
      "In Parquet and Arrow files a category is a dictionary, a day a `date32`, a time a "
      "timestamp\n"
      "in microseconds, an integer has 64 bits, and a decimal number is a double; with\n"
      "`--money decimal` or `--money cents` money is exact. The unit is in the metadata of the\n"
      "field. Parquet says the least and the greatest value of keys, times, amounts and the label\n"
      "only, by which rows are looked for. Categories, integers and booleans take a few bits each "
      "and\n"
      "are not compressed further: that would be a tenth slower, and a sixtieth smaller. Texts "
      "that\n"
      "recur within a block (who pays, with which device and card) are dictionaries within the "
      "file,\n"
      "and texts to who reads it.\n";
  text +=
      "\n## The classic model\n\nHow its rows come to be, and which defects of the original they "
      "keep:\n"
      "[fraud-model.md](fraud-model.md#the-classic-model).\n";
  for (const Table* table : AllTables()) AppendTable(text, *table);
  text += "\n## The coherent model\n\nHow its rows come to be: [fraud-model.md](fraud-model.md).\n";
  for (const Table* table : coherent::Tables()) AppendTable(text, *table);
  text +=
      "\n## Only where asked for\n\n`--graph` adds the coherent model's "
      "[graph](fraud-graph.md), and `--defects` breaks rows of\neither model and says "
      "[which](fraud-defects.md).\n";
  for (const Table* table : GraphTables()) AppendTable(text, *table);
  AppendTable(text, kDefects);
  return text;
}

}  // namespace reveza::datagen
