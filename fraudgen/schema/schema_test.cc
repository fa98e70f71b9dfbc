#include "fraudgen/schema/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "fraudgen/schema/schema_coherent.h"
#include "fraudgen/schema/schema_derived.h"
#include "fraudgen/schema/testing_columns.h"

namespace reveza::fraudgen {
namespace schema_test {

std::vector<const Table*> TablesOfAllModels() {
  std::vector<const Table*> tables(AllTables().begin(), AllTables().end());
  tables.insert(tables.end(), coherent::Tables().begin(), coherent::Tables().end());
  tables.insert(tables.end(), GraphTables().begin(), GraphTables().end());
  tables.push_back(&kDefects);
  return tables;
}

TEST(Schema, DocumentIsUpToDate) {
  std::ifstream file(REVEZA_SCHEMA_DOCUMENT);
  ASSERT_TRUE(file) << REVEZA_SCHEMA_DOCUMENT;
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), SchemaDocument()) << "run `ninja -C build fraud_schema`";
}

TEST(Schema, ClassicTablesKeepTheirColumns) {
  EXPECT_EQ(kCustomers.columns.size(), 24u);
  EXPECT_EQ(kDevices.columns.size(), 10u);
  EXPECT_EQ(kTransactions.columns.size(), 38u);
  EXPECT_EQ(kDrivers.columns.size(), 21u);
  EXPECT_EQ(kRides.columns.size(), 30u + 10u) << "two nested places with six members each";
  EXPECT_EQ(CsvHeader(kDevices),
            "customer_id,device_id,fingerprint,first_use,is_rooted_jailbroken,is_trusted,"
            "manufacturer,model,operating_system,type");
  const auto flat = [](const Table& table, size_t index) { return FlatName(table.columns[index]); };
  EXPECT_EQ(flat(kTransactions, 0), "transaction_id");
  EXPECT_EQ(flat(kTransactions, 10), "geolocation_lat");
  EXPECT_EQ(flat(kTransactions, 37), "fraud_type");
  EXPECT_EQ(flat(kCustomers, 6), "address_street");
}

TEST(Schema, CsvColumnsAreSortedAndUnique) {
  for (const Table* table : TablesOfAllModels()) {
    const auto columns = CsvColumns(*table);
    EXPECT_EQ(columns.size(), table->columns.size());
    for (size_t i = 1; i < columns.size(); ++i) {
      EXPECT_LT(columns[i - 1]->name, columns[i]->name);
    }
  }
}

TEST(Schema, ColumnsAreComplete) {
  for (const Table* table : TablesOfAllModels()) {
    std::set<std::string> names;
    for (const Column& column : table->columns) {
      EXPECT_TRUE(names.insert(FlatName(column)).second) << column.name << " is declared twice";
      for (const auto text : {column.name, column.english, column.portuguese, column.source}) {
        EXPECT_FALSE(text.empty()) << table->name << "." << column.name;
        EXPECT_EQ(text.find('|'), std::string_view::npos) << "would end a table cell";
      }
      EXPECT_EQ(column.type == ColumnType::kCategory, !column.values.empty()) << column.name;
      EXPECT_EQ(column.type == ColumnType::kDecimal, column.decimal_places > 0) << column.name;
      // Arrow silently falls back to plain text for a dictionary with duplicates.
      const std::set<std::string_view> values(column.values.begin(), column.values.end());
      EXPECT_EQ(values.size(), column.values.size()) << column.name << " has a duplicate category";
    }
  }
}

// Labels, and columns that leak them, are recognisable by name.
TEST(Schema, CoherentLabelsHaveTheLabelPrefix) {
  std::vector<std::string_view> labels;
  for (const Table* table : {&coherent::kTransactions, &coherent::kRides}) {
    labels.clear();
    for (const Column& column : table->columns) {
      if (column.name == "is_fraud" || column.name.starts_with("fraud_")) {
        labels.push_back(column.name);
      }
      EXPECT_FALSE(column.name.starts_with("ring") || column.name.contains("chain")) << column.name;
    }
    EXPECT_EQ(labels, (std::vector<std::string_view>{"is_fraud", "fraud_type", "fraud_role",
                                                     "fraud_reported_at"}));
  }
}

TEST(Schema, TablesShareForeignKeys) {
  const auto has = [](const Table& table, std::string_view name) {
    return std::ranges::find(table.columns, name, &Column::name) != table.columns.end();
  };
  EXPECT_TRUE(has(kCustomers, "customer_id"));
  EXPECT_TRUE(has(kDevices, "customer_id"));
  EXPECT_TRUE(has(kTransactions, "customer_id"));
  EXPECT_TRUE(has(kDevices, "device_id"));
  EXPECT_TRUE(has(kTransactions, "device_id"));
  for (const Table* table : coherent::Tables()) {
    const bool ride_table = table == &coherent::kDrivers || table == &coherent::kRides ||
                            table == &coherent::kRideAlerts;
    EXPECT_EQ(has(*table, "customer_id"), !ride_table) << table->name;
  }
  for (const auto name : {"passenger_id", "driver_id", "device_id"}) {
    EXPECT_TRUE(has(coherent::kRides, name)) << name;
  }
}

}  // namespace schema_test
}  // namespace reveza::fraudgen
