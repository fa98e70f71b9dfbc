#include "datagen/blocks.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "datagen/random.h"

namespace reveza::datagen {

Result<BlockPlan> BlockPlan::Make(uint64_t rows, uint64_t rows_per_block, Share frauds) {
  if (rows > kMaxRows) {
    return Fail(Error::Code::kInvalidArgument,
                std::to_string(rows) + " rows are more than " + std::to_string(kMaxRows));
  }
  if (rows_per_block == 0 || rows_per_block > kMaxRows) {
    return Fail(Error::Code::kInvalidArgument, "a block of " + std::to_string(rows_per_block) +
                                                   " rows should have 1 to " +
                                                   std::to_string(kMaxRows));
  }
  if (frauds.billionths > Share::kWhole) {
    return Fail(Error::Code::kInvalidArgument, "the share of frauds is more than all rows");
  }
  const auto exact = static_cast<unsigned __int128>(rows) * frauds.billionths;
  const auto rounded = static_cast<uint64_t>((exact + Share::kWhole / 2) / Share::kWhole);
  return BlockPlan(rows, rows_per_block, rounded);
}

// Rounding what comes before a block, not the block itself, leaves nothing over at the end.
uint64_t BlockPlan::FraudsBefore(uint64_t row) const {
  const auto product = static_cast<unsigned __int128>(row) * frauds_;
  return static_cast<uint64_t>((product + rows_ / 2) / rows_);
}

Block BlockPlan::At(uint64_t index) const {
  assert(index < count());
  const uint64_t first = index * rows_per_block_;
  const uint64_t end = first + std::min(rows_per_block_, rows_ - first);
  return {.index = index,
          .first_row = first,
          .rows = end - first,
          .frauds = FraudsBefore(end) - FraudsBefore(first)};
}

FraudRows::FraudRows(uint64_t key, const Block& block)
    : order_(Mix(Mix(key) + block.index), block.rows), frauds_(block.frauds) {}

}  // namespace reveza::datagen
