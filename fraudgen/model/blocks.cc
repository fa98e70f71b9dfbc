#include "fraudgen/model/blocks.h"

#include <algorithm>
#include <cassert>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen {

BlockPlan::BlockPlan(uint64_t rows, uint64_t rows_per_block, Share frauds)
    : rows_(rows), rows_per_block_(rows_per_block), frauds_(frauds.Of(rows)) {
  assert(rows <= kMaxRows);
  assert(rows_per_block >= 1 && rows_per_block <= kMaxRows);
  assert(frauds.billionths <= Share::kWhole);
}

// Rounding cumulative counts, not those of each block, makes the blocks add up.
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

// In a random order of the rows the first are frauds. Marks whichever is fewer: the frauds or the
// honest rows.
FraudBitmap::FraudBitmap(uint64_t key, const Block& block) {
  if (block.rows == 0) return;
  const bool mark_frauds = block.frauds <= block.rows / 2;
  bits_.assign((block.rows + 63) / 64, mark_frauds ? 0 : ~uint64_t{0});
  const Permutation order(Mix(Mix(key) + block.index), block.rows);
  const uint64_t first = mark_frauds ? 0 : block.frauds;
  const uint64_t end = mark_frauds ? block.frauds : block.rows;
  for (uint64_t place = first; place < end; ++place) {
    const uint64_t offset = order.IndexOf(place);
    bits_[offset / 64] ^= uint64_t{1} << (offset % 64);
  }
}

}  // namespace reveza::fraudgen
