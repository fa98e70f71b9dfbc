#include "fraudgen/model/blocks.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace reveza::fraudgen {
namespace blocks_test {

TEST(BlockPlan, AddsUpExactly) {
  for (uint64_t rows : {0, 1, 7, 99, 100, 101, 12'345}) {
    for (uint64_t rows_per_block : {1, 7, 100, 20'000}) {
      for (uint64_t billionths : {0, 1, 70'000, 20'000'000, 333'333'333, 999'999'999}) {
        const BlockPlan plan(rows, rows_per_block, {billionths});
        uint64_t next_row = 0;
        uint64_t frauds = 0;
        for (uint64_t index = 0; index < plan.count(); ++index) {
          const Block block = plan.At(index);
          EXPECT_EQ(block.index, index);
          EXPECT_EQ(block.first_row, next_row);
          EXPECT_GE(block.rows, 1u);
          EXPECT_LE(block.rows, rows_per_block);
          EXPECT_LE(block.frauds, block.rows);
          // Proportional, rounded down or up.
          EXPECT_LT(block.frauds * rows, block.rows * plan.frauds() + rows);
          EXPECT_GT(block.frauds * rows + rows, block.rows * plan.frauds());
          next_row += block.rows;
          frauds += block.frauds;
        }
        EXPECT_EQ(next_row, rows);
        EXPECT_EQ(frauds, plan.frauds());
      }
    }
  }
}

TEST(BlockPlan, RoundsTheShareOfAllRows) {
  EXPECT_EQ(BlockPlan(1000, 300, {20'000'000}).frauds(), 20u);
  EXPECT_EQ(BlockPlan(1000, 300, {500'000}).frauds(), 1u) << "half a row is one";
  EXPECT_EQ(BlockPlan(1000, 300, {499'999}).frauds(), 0u);
  EXPECT_EQ(BlockPlan(1000, 300, {Share::kWhole}).frauds(), 1000u);
  EXPECT_EQ(BlockPlan(100'000, 300, {70'000}).frauds(), 7u) << "7 in 100,000";
}

TEST(BlockPlan, SupportsTheLargestTables) {
  const uint64_t rows = BlockPlan::kMaxRows;
  const BlockPlan plan(rows, 2'000'000, {Share::kWhole});
  EXPECT_EQ(plan.frauds(), rows);
  const Block last = plan.At(plan.count() - 1);
  EXPECT_EQ(last.first_row + last.rows, rows);
  EXPECT_EQ(last.frauds, last.rows);
  EXPECT_EQ(BlockPlan(10, rows, {0}).count(), 1u);
}

TEST(FraudBitmap, SelectExactlyTheFraudsOfTheBlock) {
  const BlockPlan plan(10'000, 999, {20'000'000});
  std::vector<std::vector<bool>> blocks;
  for (uint64_t index = 0; index < plan.count(); ++index) {
    const Block block = plan.At(index);
    const FraudBitmap rows(42, block);
    std::vector<bool> frauds(block.rows);
    uint64_t count = 0;
    for (uint64_t offset = 0; offset < block.rows; ++offset) {
      frauds[offset] = rows.IsFraud(offset);
      count += frauds[offset] ? 1 : 0;
    }
    EXPECT_EQ(count, block.frauds) << "block " << index;
    blocks.push_back(std::move(frauds));
  }
  EXPECT_NE(blocks[0], blocks[1]) << "blocks differ";
}

TEST(FraudBitmap, AllOrNone) {
  for (uint64_t frauds : {0, 5}) {
    const FraudBitmap rows(1, {.index = 3, .first_row = 0, .rows = 5, .frauds = frauds});
    for (uint64_t offset = 0; offset < 5; ++offset) EXPECT_EQ(rows.IsFraud(offset), frauds == 5);
  }
}

}  // namespace blocks_test
}  // namespace reveza::fraudgen
