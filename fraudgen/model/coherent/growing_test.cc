// Growing data sets: a later end date only appends rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/coherent/testing_collector.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::coherent {
namespace growing_test {

Parameters Until(CivilDate last) {
  Parameters parameters;
  parameters.growing = true;
  parameters.customers = 131;
  parameters.rows = 0;
  parameters.rows_per_block = 100'000;  // 50 customers
  parameters.first_day = DaysOf({2025, 1, 1});
  parameters.last_day = DaysOf(last);
  parameters.frauds = {.billionths = 50'000'000};
  parameters.sessions = true;
  return parameters;
}

std::unique_ptr<CoherentModel> ModelUntil(CivilDate last) {
  auto model = CoherentModel::Make(Until(last));
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

// Expects `shorter` to be a prefix of `longer`, column by column.
void ExpectBeginsWith(const Collected& longer, const Collected& shorter) {
  ASSERT_GE(longer.rows, shorter.rows);
  for (std::size_t i = 0; i < shorter.columns.size(); ++i) {
    const Collected::Values& some = shorter.columns[i];
    const Collected::Values& all = longer.columns[i];
    const auto begins = [](const auto& whole, const auto& part) {
      return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
    };
    EXPECT_TRUE(begins(all.present, some.present) && begins(all.numbers, some.numbers) &&
                begins(all.texts, some.texts))
        << shorter.table->name << "." << shorter.table->columns[i].name;
  }
}

TEST(Growing, LaterEndOnlyAppendsRows) {
  const auto model = ModelUntil({2025, 3, 31});
  for (const CivilDate last : {CivilDate{2025, 4, 30}, CivilDate{2025, 4, 11}}) {
    const auto later = ModelUntil(last);
    ASSERT_EQ(model->blocks(), 3u);
    ASSERT_EQ(later->blocks(), 3u);
    for (uint64_t block = 0; block < 3; ++block) {
      Collector shorter;
      Collector longer;
      ASSERT_TRUE(model->Make(block, model->tables(), shorter));
      ASSERT_TRUE(later->Make(block, later->tables(), longer));
      for (const Table* table : model->tables()) {
        ExpectBeginsWith(longer[*table], shorter[*table]);
      }
      EXPECT_GT(longer[kTransactions].rows, shorter[kTransactions].rows * 11 / 10);
      EXPECT_EQ(longer[kCustomers].rows, shorter[kCustomers].rows);
    }
  }
}

TEST(Growing, LabelsOfADayDoNotDependOnTheEnd) {
  Parameters parameters = Until({2025, 3, 31});
  parameters.labels_as_of = DaysOf({2025, 4, 5});
  const auto model = *CoherentModel::Make(parameters);
  parameters.last_day = DaysOf({2025, 4, 30});
  const auto later = *CoherentModel::Make(parameters);
  for (uint64_t block = 0; block < 3; ++block) {
    Collector shorter;
    Collector longer;
    ASSERT_TRUE(model->Make(block, model->tables(), shorter));
    ASSERT_TRUE(later->Make(block, later->tables(), longer));
    for (const Table* table : model->tables()) ExpectBeginsWith(longer[*table], shorter[*table]);
    EXPECT_TRUE(longer[kAccounts] == shorter[kAccounts]);
  }
}

TEST(Growing, MayEndWithinAMonth) {
  const auto model = ModelUntil({2025, 2, 11});
  const auto later = ModelUntil({2025, 2, 12});
  for (uint64_t block = 0; block < 3; ++block) {
    Collector shorter;
    Collector longer;
    ASSERT_TRUE(model->Make(block, model->tables(), shorter));
    ASSERT_TRUE(later->Make(block, later->tables(), longer));
    for (const Table* table : model->tables()) ExpectBeginsWith(longer[*table], shorter[*table]);
    const Collected& rows = shorter[kTransactions];
    EXPECT_LT(rows.Number("timestamp", rows.rows - 1), DaysOf({2025, 2, 12}) * kDay);
  }
}

TEST(Growing, RowsOfMatchesTheRowsMade) {
  for (const CivilDate last :
       {CivilDate{2025, 1, 1}, CivilDate{2025, 1, 31}, CivilDate{2025, 5, 9}}) {
    const auto model = ModelUntil(last);
    uint64_t all = 0;
    uint64_t frauds = 0;
    for (uint64_t block = 0; block < model->blocks(); ++block) {
      Collector rows;
      ASSERT_TRUE(model->Make(block, model->tables(), rows));
      EXPECT_EQ(rows[kTransactions].rows, model->RowsOf(kTransactions, block));
      EXPECT_EQ(model->RowsOf(kTransactions, block), model->RowsOf(kTransactions, block));
      all += rows[kTransactions].rows;
      if (rows[kTransactions].rows == 0) continue;
      const auto& labels = rows[kTransactions]["is_fraud"].numbers;
      frauds += static_cast<uint64_t>(std::count(labels.begin(), labels.end(), 1));
    }
    // 66 payments a month; one in ten customers has not joined yet.
    const auto days = static_cast<double>(DaysOf(last) - DaysOf({2025, 1, 1}) + 1);
    EXPECT_NEAR(static_cast<double>(all), 131 * 2.2 * days, 131 * 2.2 * days * 0.4);
    if (days > 90) {
      EXPECT_NEAR(static_cast<double>(frauds) / static_cast<double>(all), 0.05, 0.02);
    }
  }
}

TEST(Growing, RejectsRidesAndLongPeriods) {
  Parameters parameters = Until({2025, 1, 31});
  parameters.last_day = parameters.first_day + kGrowingDays;
  EXPECT_FALSE(Validate(parameters));
  parameters = Until({2025, 1, 31});
  parameters.customers = 0;
  EXPECT_FALSE(Validate(parameters));
  parameters = Until({2025, 1, 31});
  parameters.rides = 10;
  EXPECT_FALSE(Validate(parameters));
}

}  // namespace growing_test
}  // namespace reveza::fraudgen::coherent
