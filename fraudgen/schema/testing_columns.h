// Short ways to declare the columns of a table in a test.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

// Returns the header of a classic CSV file: its columns' names, with dots, separated by commas.
inline std::string CsvHeader(const Table& table) {
  std::string header;
  for (const Column* column : CsvColumns(table)) {
    if (!header.empty()) header += ',';
    header += column->name;
  }
  return header;
}

inline constexpr Nullable kMayBeNull = Nullable::kYes;
inline constexpr Nullable kNeverNull = Nullable::kNo;

constexpr Column TextColumn(std::string_view name, Nullable nullable, std::string_view english,
                            std::string_view portuguese, std::string_view source) {
  return {name, ColumnType::kText, 0, "", nullable, english, portuguese, source, {}};
}
constexpr Column RecurringColumn(std::string_view name, Nullable nullable, std::string_view english,
                                 std::string_view portuguese, std::string_view source) {
  return {name, ColumnType::kText, 0, "", nullable, english, portuguese, source, {}, true};
}
constexpr Column CategoryColumn(std::string_view name, Nullable nullable,
                                std::span<const std::string_view> values, std::string_view english,
                                std::string_view portuguese, std::string_view source) {
  return {name, ColumnType::kCategory, 0, "", nullable, english, portuguese, source, values};
}
constexpr Column FlagColumn(std::string_view name, Nullable nullable, std::string_view english,
                            std::string_view portuguese, std::string_view source) {
  return {name, ColumnType::kBoolean, 0, "", nullable, english, portuguese, source, {}};
}
constexpr Column CountColumn(std::string_view name, Nullable nullable, std::string_view unit,
                             std::string_view english, std::string_view portuguese,
                             std::string_view source) {
  return {name, ColumnType::kInteger, 0, unit, nullable, english, portuguese, source, {}};
}
constexpr Column DecimalColumn(std::string_view name, Nullable nullable, int places,
                               std::string_view unit, std::string_view english,
                               std::string_view portuguese, std::string_view source) {
  return {name, ColumnType::kDecimal, places, unit, nullable, english, portuguese, source, {}};
}
constexpr Column MoneyColumn(std::string_view name, Nullable nullable, std::string_view english,
                             std::string_view portuguese, std::string_view source) {
  return DecimalColumn(name, nullable, 2, "BRL", english, portuguese, source);
}
constexpr Column DateColumn(std::string_view name, Nullable nullable, std::string_view english,
                            std::string_view portuguese, std::string_view source) {
  return {name, ColumnType::kDate, 0, "", nullable, english, portuguese, source, {}};
}
constexpr Column TimeColumn(std::string_view name, Nullable nullable, std::string_view english,
                            std::string_view portuguese, std::string_view source) {
  return {name, ColumnType::kTimestamp, 0, "", nullable, english, portuguese, source, {}};
}

}  // namespace reveza::fraudgen
