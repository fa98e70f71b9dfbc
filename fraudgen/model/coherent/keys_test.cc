#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "fraudgen/model/coherent/testing_small_model.h"
#include "fraudgen/model/model.h"

namespace reveza::fraudgen::coherent {
namespace keys_test {

// Writers look up the keys of recurring texts instead of the texts.
TEST(Keys, AreBijectionsOfTexts) {
  Parameters parameters = Small();
  parameters.rides = 20'000;
  parameters.sessions = true;
  std::map<std::string, std::map<uint64_t, std::string>> of_keys;
  std::map<std::string, std::map<std::string, uint64_t>> of_texts;
  FunctionSink sink([&](const Batch& batch) -> Status {
    for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
      const ColumnValues& values = batch.column(i);
      if (!values.HasKeys()) continue;
      const std::string name =
          fmt::format("{}.{}", batch.table().name, batch.table().columns[i].name);
      for (std::size_t row = 0; row < batch.rows(); ++row) {
        if (batch.IsNull(i, row)) continue;
        const std::string text(values.TextAt(row));
        EXPECT_EQ(of_keys[name].emplace(values.keys[row], text).first->second, text) << name;
        EXPECT_EQ(of_texts[name].emplace(text, values.keys[row]).first->second, values.keys[row])
            << name;
      }
    }
    return {};
  });
  const auto model = ModelOf(parameters);
  for (uint64_t block = 0; block < model->blocks(); ++block) {
    ASSERT_TRUE(model->Make(block, model->tables(), sink));
  }
  std::set<std::string> names;
  for (const auto& [name, values] : of_keys) {
    names.insert(name);
    EXPECT_GT(values.size(), 10u) << name;
  }
  EXPECT_EQ(
      names,
      (std::set<std::string>{
          "entries.account_id", "entries.counterparty_account", "entries.customer_id",
          "rides.device_id", "rides.passenger_id", "sessions.account_id", "sessions.customer_id",
          "sessions.device_id", "sessions.ip_address", "transactions.card_number_hash",
          "transactions.counterparty_account", "transactions.customer_id", "transactions.device_id",
          "transactions.fraud_type", "transactions.ip_address", "transactions.merchant_id"}));
}

}  // namespace keys_test
}  // namespace reveza::fraudgen::coherent
