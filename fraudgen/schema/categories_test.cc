// The categories of columns agree with the lists and weights of fraudgen/lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/profiles.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/schema/schema.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen {
namespace categories_test {

std::span<const std::string_view> CategoriesOf(const Table& table, std::string_view column) {
  const auto found = std::ranges::find(table.columns, column, &Column::name);
  return found == table.columns.end() ? std::span<const std::string_view>() : found->values;
}

TEST(Categories, MatchTheOrderOfTheLists) {
  const auto expect = [](std::span<const std::string_view> categories, auto texts) {
    ASSERT_EQ(categories.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(categories[i], texts[i]);
  };
  std::vector<std::string_view> states;
  for (const lists::State& state : lists::kStates) states.push_back(state.code);
  expect(CategoriesOf(coherent::kCustomers, "address.state"), states);
  std::vector<std::string_view> profiles;
  for (const lists::Profile& profile : lists::Profiles()) profiles.push_back(profile.name);
  expect(CategoriesOf(kCustomers, "behavioral_profile"), profiles);
  expect(CategoriesOf(coherent::kCustomers, "behavioral_profile"), profiles);
}

TEST(Categories, MatchTheWeights) {
  const auto count = [](std::string_view column) {
    return CategoriesOf(kTransactions, column).size();
  };
  EXPECT_EQ(count("type"), lists::kTransactionTypeWeights.size());
  EXPECT_EQ(count("channel"), lists::kChannelWeights.size());
  EXPECT_EQ(count("pix_key_type"), lists::kPixKeyTypeWeights.size());
  EXPECT_EQ(count("card_brand"), lists::kCardBrandWeights.size());
  EXPECT_EQ(count("card_entry"), lists::kCardEntryWeights.size());
  EXPECT_EQ(count("status"), lists::kHonestStatusWeights.size());
  EXPECT_EQ(count("fraud_type"), lists::kFraudTypeWeights.size());
}

}  // namespace categories_test
}  // namespace reveza::fraudgen
