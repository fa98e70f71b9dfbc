#include "datagen/check/key_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace reveza::datagen::check {
namespace {

DataSet DataOf(const std::string& model, uint64_t customers, uint64_t transactions) {
  DataSet data;
  data.made_by.model = model;
  data.files.resize(2);
  data.files[0].table = "customers";
  data.files[0].rows = customers;
  data.files[1].table = "transactions";
  data.files[1].rows = transactions;
  return data;
}

TEST(KeyCheck, PassesGrowWithTheIdentifiers) {
  EXPECT_EQ(KeyPasses(DataOf("classic", 1'000, 40'000'000)), 1u);
  EXPECT_EQ(KeyPasses(DataOf("classic", 1'000, 3'000'000'000)), 3u);
  EXPECT_EQ(KeyPasses(DataOf("coherent", 1'000, 10'000'000)), 1u);
  EXPECT_EQ(KeyPasses(DataOf("coherent", 1'000, 40'000'000)), 3u);
}

// Each identifier is looked at once in all passes, and found twice in one of them.
TEST(KeyCheck, PassesTogetherSeeEachKeyOnce) {
  Batch batch(kCustomers);
  batch.Begin(5);
  for (const char* id : {"CUST_000000000001", "CUST_000000000002", "CUST_000000000007",
                         "CUST_000000000002", "CUST_000000000009"}) {
    for (std::size_t i = 0; i < kCustomers.columns.size(); ++i) {
      if (kCustomers.columns[i].type != ColumnType::kText) continue;
      batch.column(i).AppendText(kCustomers.columns[i].name == "customer_id" ? id : "");
    }
  }
  const DataSet data = DataOf("classic", 5, 0);
  KeyCheck keys(data);
  for (uint64_t pass = 0; pass < 3; ++pass) {
    keys.BeginPass({.index = pass, .count = 3});
    keys.Look(batch, {.file = "customers", .block = 0, .first_row = 0});
  }
  std::vector<Outcome> outcomes;
  keys.Report(outcomes);
  const auto found =
      std::ranges::find(outcomes, "keys: customers.customer_id is there once", &Outcome::name);
  ASSERT_NE(found, outcomes.end());
  EXPECT_EQ(found->verdict, Outcome::Verdict::kFinding);
  EXPECT_EQ(found->detail, "1 wrong; first customers row 4: CUST_000000000002");
}

}  // namespace
}  // namespace reveza::datagen::check
