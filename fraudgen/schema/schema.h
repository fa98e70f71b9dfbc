// The schema: every table and column of the generated data. CSV headers, JSON keys, Parquet columns
// and the documentation derive from it. Declared in tables/, one file a table. Constant data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reveza::fraudgen {

enum class ColumnType {
  kText,
  kCategory,  // text, one of Column::values
  kBoolean,
  kInteger,
  kDecimal,  // with a fixed number of decimal places
  kDate,
  kTimestamp,  // microseconds, local time: UTC-3
};

enum class Nullable { kNo, kYes };

struct Column {
  std::string_view name;  // with a dot if it is a member of a nested record: address.city
  ColumnType type;
  int decimal_places;     // of a kDecimal, else 0
  std::string_view unit;  // BRL, km; may be empty
  Nullable nullable;
  std::string_view english;
  std::string_view portuguese;
  std::string_view source;                   // how the value is generated
  std::span<const std::string_view> values;  // of a kCategory, in the order of their codes
  bool recurs = false;  // of a kText: values repeat within a block, worth a dictionary
};

struct Table {
  std::string_view name;
  std::string_view english;
  std::string_view portuguese;
  std::span<const Column> columns;  // in the order in which records are written
};

// The tables of the classic model.
extern const Table kCustomers;
extern const Table kDevices;
extern const Table kTransactions;
extern const Table kDrivers;
extern const Table kRides;
std::span<const Table* const> AllTables();

// Returns the column's name in a flat table: address_city.
std::string FlatName(const Column& column);

// Returns the columns of a classic CSV file, sorted by name.
std::vector<const Column*> CsvColumns(const Table& table);

// Renders the schema as Markdown: docs/fraud-schema.md.
std::string SchemaDocument();

}  // namespace reveza::fraudgen
