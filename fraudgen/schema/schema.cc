#include "fraudgen/schema/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/devices.h"
#include "fraudgen/lists/people.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/schema/schema_classic.h"
#include "fraudgen/schema/schema_coherent.h"
#include "fraudgen/schema/schema_derived.h"

// The tables that are declared in tables/.
namespace reveza::fraudgen {

using classic::kFraudTypeNames;
using classic::kTransactionTypeNames;

#include "generated/fraudgen/schema/tables/classic/customers.inc"
#include "generated/fraudgen/schema/tables/classic/devices.inc"
#include "generated/fraudgen/schema/tables/classic/drivers.inc"
#include "generated/fraudgen/schema/tables/classic/rides.inc"
#include "generated/fraudgen/schema/tables/classic/transactions.inc"
#include "generated/fraudgen/schema/tables/derived/defects.inc"
#include "generated/fraudgen/schema/tables/derived/edges.inc"
#include "generated/fraudgen/schema/tables/derived/nodes.inc"

std::span<const Table* const> AllTables() {
  static constexpr std::array<const Table*, 5> kTables = {&kCustomers, &kDevices, &kTransactions,
                                                          &kDrivers, &kRides};
  return kTables;
}

std::span<const Table* const> GraphTables() {
  static constexpr std::array<const Table*, 2> kTables = {&kNodes, &kEdges};
  return kTables;
}

}  // namespace reveza::fraudgen

namespace reveza::fraudgen::coherent {

#include "generated/fraudgen/schema/tables/coherent/accounts.inc"
#include "generated/fraudgen/schema/tables/coherent/alerts.inc"
#include "generated/fraudgen/schema/tables/coherent/changes.inc"
#include "generated/fraudgen/schema/tables/coherent/customers.inc"
#include "generated/fraudgen/schema/tables/coherent/devices.inc"
#include "generated/fraudgen/schema/tables/coherent/disputes.inc"
#include "generated/fraudgen/schema/tables/coherent/drivers.inc"
#include "generated/fraudgen/schema/tables/coherent/entries.inc"
#include "generated/fraudgen/schema/tables/coherent/ride_alerts.inc"
#include "generated/fraudgen/schema/tables/coherent/rides.inc"
#include "generated/fraudgen/schema/tables/coherent/rings.inc"
#include "generated/fraudgen/schema/tables/coherent/sessions.inc"
#include "generated/fraudgen/schema/tables/coherent/settlements.inc"
#include "generated/fraudgen/schema/tables/coherent/transactions.inc"

std::span<const Table* const> Tables() {
  static constexpr std::array<const Table*, 13> kTables = {
      &kCustomers, &kAccounts, &kDevices, &kTransactions, &kSettlements, &kAlerts,    &kDisputes,
      &kChanges,   &kRings,    &kEntries, &kDrivers,      &kRides,       &kRideAlerts};
  return kTables;
}

}  // namespace reveza::fraudgen::coherent

namespace reveza::fraudgen {
namespace {

std::string TypeText(const Column& column) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "text", "category", "boolean", "integer", "decimal, {} places", "date", "timestamp, µs"};
  return fmt::format(fmt::runtime(kNames[static_cast<std::size_t>(column.type)]),
                     column.decimal_places);
}

void AppendColumn(std::string& text, const Column& column) {
  fmt::format_to(std::back_inserter(text), "| `{}` | {} | {} | {} | {}<br>*{}* | {} |\n",
                 column.name, TypeText(column), column.unit,
                 column.nullable == Nullable::kYes ? "yes" : "", column.english, column.portuguese,
                 column.source);
}

void AppendValues(std::string& text, const Column& column) {
  constexpr std::size_t kMaxListed = 30;
  if (column.values.size() > kMaxListed) {
    fmt::format_to(std::back_inserter(text), "- `{}`: {} values, from `fraudgen/lists/`\n",
                   column.name, column.values.size());
    return;
  }
  fmt::format_to(std::back_inserter(text), "- `{}`: {}\n", column.name,
                 fmt::join(column.values, ", "));
}

void AppendTable(std::string& text, const Table& table) {
  fmt::format_to(std::back_inserter(text), "\n### {}\n\n{}\n\n*{}*\n\n", table.name, table.english,
                 table.portuguese);
  text += "| column | type | unit | null | meaning | how it is generated |\n";
  text += "|---|---|---|---|---|---|\n";
  for (const Column& column : table.columns) AppendColumn(text, column);
  text += "\nCategories:\n\n";
  for (const Column& column : table.columns) {
    if (column.type == ColumnType::kCategory) AppendValues(text, column);
  }
}

}  // namespace

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

std::string SchemaDocument() {
  std::string text = R"(# The tables of the fraud data

Brazilian bank customers, their devices and their transactions, drivers and their rides, with
labelled fraud, as generated by `fraudgen`. This page is generated from
`fraudgen/schema/tables/`; after a change there run `ninja -C build fraud_schema`.

Times are local time of Brasilia (UTC-3, all year) in every format, table and stream, and are
written without a zone, so that all readers see the same digits and an hour is a local hour:
`2025-03-01T12:00:00.000000` in JSON, CSV and TSV, in Parquet and Arrow a timestamp without zone,
with `-03:00` as `time_zone` in the metadata of the field. UTC is three hours later; in pandas
`.dt.tz_localize("-03:00")` makes instants of them.

Money is in Brazilian reais, exact to the cent. A name with a dot is a member of a nested record
(`address.city`) and has an underscore in flat tables (`address_city`). People, numbers and names
are fictitious.

In JSON every record has every key, and a null is `null`. In CSV and TSV a null is an empty
field, and an empty text is `""`; those of the classic model follow the original:
columns sorted by name, dots in their names, `True` and `False`.

In Parquet and Arrow files a category is a dictionary, a date a `date32`, a time a timestamp
in microseconds, an integer has 64 bits, and a decimal is a double; with
`--money decimal` or `--money cents` money is exact
([why not always](fraud-folders.md#numbers-in-parquet)). The unit is in the metadata of the
field. Parquet has min/max statistics of keys, times, amounts and the label only, by which
rows are filtered. Categories, integers, times and booleans take a few bits each and are not
compressed further: that would be 10 % slower and save less than 2 %. Texts and decimals that
repeat within a block (identifiers, amounts, scores) are dictionary-encoded within the file,
and plain texts and doubles to readers.

## The classic model

How its rows are generated, and which defects of the original they keep:
[fraud-model.md](fraud-model.md#the-classic-model).
)";
  for (const Table* table : AllTables()) AppendTable(text, *table);
  text +=
      "\n## The coherent model\n\nHow its rows are generated: [fraud-model.md](fraud-model.md).\n";
  for (const Table* table : coherent::Tables()) AppendTable(text, *table);
  text +=
      "\n## Optional tables\n\n`--sessions` adds the coherent model's "
      "[log-ins](fraud-model.md#sessions), `--graph` its\n[graph](fraud-graph.md), and `--defects` "
      "injects [defects](fraud-defects.md) into the rows of either model.\n";
  AppendTable(text, coherent::kSessions);
  for (const Table* table : GraphTables()) AppendTable(text, *table);
  AppendTable(text, kDefects);
  return text;
}

}  // namespace reveza::fraudgen
