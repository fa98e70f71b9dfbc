// How rows are divided into blocks, the unit of work: a block's rows and frauds are known from its
// index alone, so blocks can be made by any thread or machine, in any order, and the sums are
// exact. Immutable, so safe from any thread.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "datagen/permutation.h"

namespace reveza::datagen {

// A share of the rows in billionths, so that it is exact: 20'000'000 is 2 %.
struct Share {
  static constexpr uint64_t kWhole = 1'000'000'000;
  uint64_t billionths = 0;
};

struct Block {
  uint64_t index = 0;
  uint64_t first_row = 0;
  uint64_t rows = 0;
  uint64_t frauds = 0;
};

class BlockPlan {
 public:
  static constexpr uint64_t kMaxRows = uint64_t{1} << 48;

  // `rows` from 0 to kMaxRows in blocks of `rows_per_block`, the last one may be shorter.
  static Result<BlockPlan> Make(uint64_t rows, uint64_t rows_per_block, Share frauds);

  uint64_t count() const { return (rows_ + rows_per_block_ - 1) / rows_per_block_; }
  uint64_t rows() const { return rows_; }
  // The share of all rows, rounded to the nearest, halves up.
  uint64_t frauds() const { return frauds_; }

  // `index` is below count(). Its frauds are its part of frauds(), rounded down or up such that
  // those of all blocks add up to it.
  Block At(uint64_t index) const;

 private:
  BlockPlan(uint64_t rows, uint64_t rows_per_block, uint64_t frauds)
      : rows_(rows), rows_per_block_(rows_per_block), frauds_(frauds) {}

  uint64_t FraudsBefore(uint64_t row) const;

  uint64_t rows_;
  uint64_t rows_per_block_;
  uint64_t frauds_;
};

// Which rows of a block are frauds: as many as it says, without a list of them.
class FraudRows {
 public:
  // `block` has at least one row. `key` differs from table to table and seed to seed.
  FraudRows(uint64_t key, const Block& block);

  // `offset` of the row in its block.
  bool IsFraud(uint64_t offset) const { return order_.At(offset) < frauds_; }
  // The row that stands at `place` of an order in which all frauds come first.
  uint64_t OffsetOf(uint64_t place) const { return order_.IndexOf(place); }

 private:
  Permutation order_;
  uint64_t frauds_;
};

}  // namespace reveza::datagen
