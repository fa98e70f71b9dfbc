// Which blocks of a data set a shard makes. Depends only on the number of blocks, so that every
// shard knows those of the others. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/error.h"

namespace reveza::fraudgen {

// Part `index` of `count` of a run, counted from 1.
struct Shard {
  uint64_t index = 1;
  uint64_t count = 1;
};

// Parses "3/8". kInvalidArgument: malformed or out of range.
Result<Shard> ParseShard(std::string_view text);

// Returns how many consecutive blocks form a group. The files of small tables span a group, which
// is made by one thread of one shard; groups are large only where there are more than threads.
constexpr uint64_t BlocksPerGroup(uint64_t blocks) {
  constexpr uint64_t kMinGroups = 128;
  constexpr uint64_t kMaxBlocks = 32;
  return std::clamp<uint64_t>(blocks / kMinGroups, 1, kMaxBlocks);
}

class ShardBlocks {
 public:
  // Groups have `group_blocks` blocks (0: BlocksPerGroup), the last one those that are left.
  ShardBlocks(uint64_t all_blocks, Shard shard, uint64_t group_blocks = 0);

  // Of all shards.
  uint64_t all_blocks() const { return all_blocks_; }
  uint64_t all_groups() const;
  // Number of blocks in this shard, and the index of its n-th block.
  uint64_t blocks() const;
  uint64_t BlockAt(uint64_t n) const;
  // Number of groups in this shard, and the blocks [first, end) of its n-th group.
  uint64_t groups() const;
  std::pair<uint64_t, uint64_t> GroupAt(uint64_t n) const;
  // Returns the blocks of the group that begins with a block, of any shard; 0: none does.
  uint64_t SpanOf(uint64_t block) const;

 private:
  uint64_t all_blocks_;
  Shard shard_;
  uint64_t group_blocks_;  // of each group but the last
};

}  // namespace reveza::fraudgen
