#include "fraudgen/check/key_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace reveza::fraudgen::check {
namespace key_check_test {

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

TEST(KeyCheck, PassesGrowWithIdentifiers) {
  EXPECT_EQ(KeyPasses(DataOf("classic", 1'000, 40'000'000)), 1u);
  EXPECT_EQ(KeyPasses(DataOf("classic", 1'000, 3'000'000'000)), 3u);
  EXPECT_EQ(KeyPasses(DataOf("coherent", 1'000, 10'000'000)), 1u);
  EXPECT_EQ(KeyPasses(DataOf("coherent", 1'000, 40'000'000)), 3u);
}

// Each identifier is checked in exactly one pass.
TEST(KeyCheck, DetectsDuplicatesOverAllPasses) {
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
    keys.Add(batch, {.file = "customers", .block = 0, .first_row = 0});
  }
  std::vector<Outcome> outcomes;
  keys.Report(outcomes);
  const auto found =
      std::ranges::find(outcomes, "keys: customers.customer_id is unique", &Outcome::name);
  ASSERT_NE(found, outcomes.end());
  EXPECT_EQ(found->verdict, Outcome::Verdict::kFailed);
  EXPECT_EQ(found->detail, "1 failed; first: customers row 4: CUST_000000000002");
}

}  // namespace key_check_test
}  // namespace reveza::fraudgen::check
