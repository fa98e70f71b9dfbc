#include "fraudgen/model/classic/classic_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "fraudgen/model/classic/testing_rows.h"

namespace reveza::fraudgen::classic {
namespace classic_model_test {

uint64_t SumOf(const ClassicModel& model, const Table& table) {
  uint64_t rows = 0;
  for (uint64_t block = 0; block < model.blocks(); ++block) rows += model.RowsOf(table, block);
  return rows;
}

TEST(ClassicModel, TablesDependOnTheKind) {
  Options options = TestOptions();
  const auto names = [&] {
    std::string text;
    const auto model = ModelOf(options);
    for (const Table* table : model->tables()) text += std::string(table->name) + " ";
    return text;
  };
  EXPECT_EQ(names(), "customers devices transactions drivers rides ");
  options.kind = Kind::kTransactions;
  EXPECT_EQ(names(), "customers devices transactions ");
  options.kind = Kind::kRides;
  EXPECT_EQ(names(), "customers devices drivers rides ");
}

TEST(ClassicModel, MakesExactlyTheRequestedRows) {
  for (const uint64_t transactions : {0u, 1u, 99u, 25'000u, 60'001u}) {
    for (const uint64_t rides : {0u, 7u, 60'001u}) {
      Options options = TestOptions();
      options.transactions = transactions;
      options.rides = rides;
      options.customers = 1'234;
      const auto model = ModelOf(options);
      EXPECT_EQ(SumOf(*model, kTransactions), transactions);
      EXPECT_EQ(SumOf(*model, kRides), rides);
      EXPECT_EQ(SumOf(*model, kCustomers), 1'234u);
      EXPECT_EQ(model->RowsOf(kDevices, 0), 0u);
      EXPECT_EQ(model->RowsOf(kTransactions, model->blocks()), 0u);
    }
  }
}

TEST(ClassicModel, RowsOfMatchesTheRowsMade) {
  const auto model = ModelOf(TestOptions());
  EXPECT_EQ(model->blocks(), 3u);
  for (uint64_t block = 0; block < model->blocks(); ++block) {
    Collector collector;
    ASSERT_TRUE(model->Make(block, model->tables(), collector));
    for (const Table* table : {&kCustomers, &kTransactions, &kDrivers, &kRides}) {
      EXPECT_EQ(collector.Of(*table).size(), model->RowsOf(*table, block)) << table->name;
    }
    EXPECT_GT(collector.Of(kDevices).size(), collector.Of(kCustomers).size());
  }
}

TEST(ClassicModel, MakesExactlyTheRequestedFrauds) {
  for (const uint64_t billionths : {0u, 20'000'000u, 700'000'000u, 1'000'000'000u}) {
    Options options = TestOptions();
    options.transactions = 10'001;
    options.rides = 999;
    options.rows_per_block = 3'000;
    options.frauds.billionths = billionths;
    Collector rows = MakeAll(*ModelOf(options));
    const auto frauds = [&](const Table& table, auto column) {
      return CountsOf(rows.Of(table)[column], 2)[1];
    };
    const auto share = [&](uint64_t all) {
      return (all * billionths + Share::kWhole / 2) / Share::kWhole;
    };
    EXPECT_EQ(frauds(kTransactions, TransactionsColumn::kIsFraud), share(10'001));
    EXPECT_EQ(frauds(kRides, RidesColumn::kIsFraud), share(999));
  }
}

TEST(ClassicModel, PopulationDefaultsToTheOriginalsRatio) {
  Options options = TestOptions();
  const auto people = [&](const Table& table) { return SumOf(*ModelOf(options), table); };
  EXPECT_EQ(people(kCustomers), 1'000u);
  EXPECT_EQ(people(kDrivers), 400u);
  options.transactions = 1'000'000;
  EXPECT_EQ(people(kCustomers), 10'200u);
  options.kind = Kind::kTransactions;
  EXPECT_EQ(people(kCustomers), 10'000u);
  EXPECT_EQ(people(kDrivers), 0u);
  options.kind = Kind::kRides;
  options.rides = 100'000;
  EXPECT_EQ(people(kCustomers), 2'000u);
  EXPECT_EQ(people(kDrivers), 2'000u);
  options.rides = 10;
  EXPECT_EQ(people(kDrivers), 100u);
}

TEST(ClassicModel, BlocksDoNotDependOnTheirOrder) {
  const auto model = ModelOf(TestOptions());
  const auto again = ModelOf(TestOptions());
  for (uint64_t block = model->blocks(); block-- > 0;) {
    Collector forward;
    Collector backward;
    ASSERT_TRUE(model->Make(block, model->tables(), forward));
    for (const Table* table : {&kRides, &kDrivers, &kTransactions, &kDevices, &kCustomers}) {
      const std::array wanted = {table};
      ASSERT_TRUE(again->Make(block, wanted, backward));
      EXPECT_EQ(forward.Of(*table).Lines(), backward.Of(*table).Lines()) << table->name;
    }
  }
}

TEST(ClassicModel, RowsDoNotDependOnTheBlockSize) {
  Options options = TestOptions();
  options.transactions = 12'000;
  options.rides = 9'000;
  options.customers = 5'000;
  options.frauds.billionths = 0;  // the selection of frauds depends on the block
  options.rows_per_block = 100'000;
  Collector whole = MakeAll(*ModelOf(options));
  options.rows_per_block = 1'111;
  Collector parts = MakeAll(*ModelOf(options));
  for (const Table* table : AllTables()) {
    EXPECT_EQ(whole.Of(*table).Lines(), parts.Of(*table).Lines()) << table->name;
  }
}

TEST(ClassicModel, SeedsGiveDifferentRows) {
  Options options = TestOptions();
  options.transactions = options.rides = 10;
  Collector first = MakeAll(*ModelOf(options));
  options.seed = 43;
  Collector second = MakeAll(*ModelOf(options));
  for (const Table* table : AllTables()) {
    EXPECT_NE(first.Of(*table).Line(0), second.Of(*table).Line(0)) << table->name;
  }
}

TEST(ClassicModel, ReturnsTheErrorOfTheSink) {
  class FullSink : public BatchSink {
   public:
    Status Put(const Batch&) override {
      ++calls;
      return Fail(Error::Code::kExhausted, "full");
    }
    int calls = 0;
  };
  const auto model = ModelOf(TestOptions());
  for (const Table* table : model->tables()) {
    FullSink sink;
    const Status status = model->Make(0, std::array{table}, sink);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "full");
    EXPECT_EQ(sink.calls, 1);
  }
}

}  // namespace classic_model_test
}  // namespace reveza::fraudgen::classic
