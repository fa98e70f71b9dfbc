#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "fraudgen/model/classic/classic_model.h"

namespace reveza::fraudgen::classic {
namespace in_order_test {

// Time, identifier and the whole row as text; sorts like the expected output.
using Line = std::tuple<int64_t, std::string, std::string>;

class Lines final : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    const std::size_t time = batch.IndexOf("timestamp");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      std::string text;
      for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
        const ColumnValues& values = batch.column(i);
        text += '|';
        if (batch.IsNull(i, row)) continue;
        if (!values.ends.empty()) text += values.TextAt(row);
        if (!values.numbers.empty()) text += std::to_string(values.numbers[row]);
        if (!values.codes.empty()) text += std::to_string(values.codes[row]);
        if (!values.flags.empty()) text += std::to_string(values.flags[row]);
      }
      lines.emplace_back(batch.column(time).numbers[row], batch.column(0).TextAt(row), text);
    }
    return lines.size() < max ? Status{} : Fail(Error::Code::kUnavailable, "enough");
  }
  std::vector<Line> lines;
  std::size_t max = SIZE_MAX;
};

std::unique_ptr<ClassicModel> ModelOf(uint64_t rows) {
  Options options;
  options.kind = Kind::kAll;
  options.transactions = rows;
  options.rides = rows / 2;
  options.rows_per_block = 3'000;
  options.start = {2024, 1, 1};
  options.end = {2024, 1, 20};
  options.as_of = {2024, 2, 1};
  return ClassicModel::Make(options);
}

TEST(InOrderTest, MakesTheRowsOfAllBlocksInTimeOrder) {
  const auto model = ModelOf(10'000);
  ASSERT_FALSE(model->IsInOrder());
  for (const Table* table : {&kTransactions, &kRides}) {
    Lines blocks;
    for (uint64_t block = 0; block < model->blocks(); ++block) {
      ASSERT_TRUE(model->Make(block, std::span(&table, 1), blocks));
    }
    Lines in_order;
    ASSERT_TRUE(model->MakeInOrder(*table, in_order));
    ASSERT_EQ(in_order.lines.size(), table == &kRides ? 5'000u : 10'000u);
    EXPECT_FALSE(std::ranges::is_sorted(blocks.lines));
    EXPECT_TRUE(std::ranges::is_sorted(in_order.lines));
    std::ranges::sort(blocks.lines);
    EXPECT_TRUE(in_order.lines == blocks.lines) << table->name;
  }
}

TEST(InOrderTest, ReturnsTheErrorOfTheSink) {
  const auto model = ModelOf(10'000);
  Lines few;
  few.max = 1;
  const Status made = model->MakeInOrder(kTransactions, few);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "enough");
  EXPECT_LT(few.lines.size(), 10'000u);
  EXPECT_FALSE(model->MakeInOrder(kDevices, few));
}

}  // namespace in_order_test
}  // namespace reveza::fraudgen::classic
