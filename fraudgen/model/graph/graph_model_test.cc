#include "fraudgen/model/graph/graph_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen {
namespace graph_model_test {

using Record = std::map<std::string, std::string>;

// The rows of each table of a block, as texts by column.
class Records final : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      Record& record = tables[std::string(batch.table().name)].emplace_back();
      for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
        record[std::string(batch.table().columns[i].name)] =
            batch.IsNull(i, row) ? "null" : ValueText(batch, i, row);
      }
    }
    return {};
  }
  std::map<std::string, std::vector<Record>> tables;
};

std::unique_ptr<Model> Plain(std::optional<int64_t> labels_as_of = std::nullopt) {
  coherent::Parameters parameters;
  parameters.labels_as_of = labels_as_of;
  parameters.rows = 30'000;
  parameters.customers = 400;
  parameters.rows_per_block = 10'000;
  parameters.frauds = {.billionths = 60'000'000};
  return *coherent::CoherentModel::Make(parameters);
}

GraphModel Graph() { return GraphModel(Plain()); }

Records BlockOf(const Model& model, uint64_t block) {
  Records records;
  EXPECT_TRUE(model.Make(block, model.tables(), records));
  return records;
}

TEST(GraphModel, EdgesJoinUniqueNodesOfTheRightKind) {
  const GraphModel graph = Graph();
  for (uint64_t block = 0; block < graph.blocks(); ++block) {
    Records records = BlockOf(graph, block);
    std::map<std::string, std::string> kinds;
    for (Record& node : records.tables["nodes"]) {
      EXPECT_TRUE(kinds.emplace(node["node_id"], node["kind"]).second) << node["node_id"];
    }
    const std::map<std::string, std::pair<std::string, std::string>> ends = {
        {"OWNS", {"CUSTOMER", "ACCOUNT"}},
        {"USES", {"CUSTOMER", "DEVICE"}},
        {"SENDS", {"ACCOUNT", "ACCOUNT"}},
        {"PAYS", {"ACCOUNT", "MERCHANT"}}};
    std::set<std::string> seen;
    for (Record& edge : records.tables["edges"]) {
      seen.insert(edge["kind"]);
      EXPECT_EQ(kinds[edge["source"]], ends.at(edge["kind"]).first);
      EXPECT_EQ(kinds[edge["target"]], ends.at(edge["kind"]).second);
    }
    EXPECT_EQ(seen.size(), ends.size());
    EXPECT_EQ(std::ranges::count_if(records.tables["nodes"],
                                    [](Record& node) { return node["kind"] == "CUSTOMER"; }),
              static_cast<std::ptrdiff_t>(records.tables["customers"].size()));
  }
}

// With all labels, and with those of a day in the middle.
class GraphModelLabels : public testing::TestWithParam<std::optional<int64_t>> {};
INSTANTIATE_TEST_SUITE_P(, GraphModelLabels,
                         testing::Values(std::nullopt, coherent::Parameters().first_day + 180));

TEST_P(GraphModelLabels, HasAnEdgeForEveryCompletedPayment) {
  Records records = BlockOf(GraphModel(Plain(GetParam())), 1);
  std::map<std::string, Record> edges;
  for (Record& edge : records.tables["edges"]) {
    if (edge["transaction_id"] == "null") continue;
    EXPECT_TRUE(edges.emplace(edge["transaction_id"], edge).second);
  }
  std::map<std::string, std::string> accounts;
  for (Record& account : records.tables["accounts"]) {
    accounts[account["customer_id"]] = account["account_id"];
  }
  std::map<std::string, std::string> rings;
  for (Record& member : records.tables["rings"]) {
    if (member["transaction_id"] != "null") rings[member["transaction_id"]] = member["ring_id"];
  }
  EXPECT_GT(rings.size(), 10u);
  std::size_t paid = 0;
  for (Record& row : records.tables["transactions"]) {
    const bool made = row["status"] == "APPROVED" || row["status"] == "PENDING";
    const bool shop = row["merchant_id"] != "null";
    if (!made || (!shop && row["counterparty_account"] == "null")) continue;
    ++paid;
    Record& edge = edges[row["transaction_id"]];
    EXPECT_EQ(edge["source"], accounts[row["customer_id"]]);
    EXPECT_EQ(edge["target"], shop ? row["merchant_id"] : row["counterparty_account"]);
    EXPECT_EQ(edge["kind"], shop ? "PAYS" : "SENDS");
    EXPECT_EQ(edge["at"], row["timestamp"]);
    EXPECT_EQ(edge["amount"], row["amount"]);
    EXPECT_EQ(edge["payment_type"], row["type"]);
    EXPECT_EQ(edge["is_fraud"], row["is_fraud"]);
    EXPECT_EQ(edge["fraud_role"], row["fraud_role"]);
    const auto ring = rings.find(row["transaction_id"]);
    EXPECT_EQ(edge["fraud_ring"], ring == rings.end() ? "null" : ring->second);
  }
  EXPECT_GT(paid, 5'000u);
  EXPECT_EQ(edges.size(), paid);
}

TEST(GraphModel, RowsDoNotDependOnOtherWantedTables) {
  const GraphModel graph = Graph();
  Records all = BlockOf(graph, 0);
  for (const Table* table : graph.tables()) {
    Records alone;
    ASSERT_TRUE(graph.Make(0, std::span(&table, 1), alone));
    ASSERT_EQ(alone.tables.size(), 1u);
    EXPECT_EQ(alone.tables[std::string(table->name)], all.tables[std::string(table->name)])
        << table->name;
  }
}

TEST(GraphModel, LeavesOtherTablesUnchanged) {
  const GraphModel graph = Graph();
  const auto plain = Plain();
  Records with = BlockOf(graph, 2);
  Records without = BlockOf(*plain, 2);
  EXPECT_EQ(graph.tables().size(), plain->tables().size() + 2);
  for (const auto& [name, rows] : without.tables) EXPECT_EQ(with.tables[name], rows) << name;
}

}  // namespace graph_model_test
}  // namespace reveza::fraudgen
