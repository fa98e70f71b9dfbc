// The one place where the tables and their columns are written down. What readers are told, the
// head of a CSV file and the keys of JSON all come from it. Constant data, safe from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reveza::datagen {

enum class ColumnType {
  kText,
  kCategory,  // text, one of Column::values
  kBoolean,
  kInteger,
  kDecimal,  // a number with a fixed count of decimal places
  kDate,
  kTimestamp,  // microseconds, Brasilia time without zone
};

enum class Nullable { kNo, kYes };

struct Column {
  std::string_view name;  // with a dot where it is a member: address.city
  ColumnType type;
  int decimal_places;     // of a kDecimal, else 0
  std::string_view unit;  // BRL, km; empty where there is none
  Nullable nullable;
  std::string_view english;
  std::string_view portuguese;
  std::string_view source;                   // how the value comes to be
  std::span<const std::string_view> values;  // all that a kCategory may be
  bool recurs = false;  // of a kText: the rows of a block have few values, and each many times
};

struct Table {
  std::string_view name;
  std::string_view english;
  std::string_view portuguese;
  std::span<const Column> columns;  // in the order of the records
};

// The tables of the classic model.
extern const Table kCustomers;
extern const Table kDevices;
extern const Table kTransactions;
extern const Table kDrivers;
extern const Table kRides;
std::span<const Table* const> AllTables();

// The column's name in a flat table: address_city.
std::string FlatName(const Column& column);

// The columns of a classic CSV file, by the alphabet of their names; the head is these names as
// they stand (address.city), with commas between them.
std::vector<const Column*> CsvColumns(const Table& table);
std::string CsvHeader(const Table& table);

// All of it as a Markdown document: docs/fraud-schema.md.
std::string SchemaDocument();

}  // namespace reveza::datagen
