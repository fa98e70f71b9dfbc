#include "fraudgen/run/shard.h"

#include <cassert>

#include "common/base/parse_number.h"

namespace reveza::fraudgen {
namespace {

constexpr uint64_t kMaxShards = 1'000'000;

}  // namespace

Result<Shard> ParseShard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto index = ParseNumber<uint64_t>(text.substr(0, slash));
  const auto count =
      slash == text.npos ? std::nullopt : ParseNumber<uint64_t>(text.substr(slash + 1));
  if (!index || !count) {
    return InvalidArgument("'{}' is not a shard; expected INDEX/COUNT, such as 3/8", text);
  }
  if (*count == 0 || *count > kMaxShards) {
    return InvalidArgument("'{}': the number of shards must be 1 to {}", text, kMaxShards);
  }
  if (*index == 0 || *index > *count) {
    return InvalidArgument("'{}': shard {} of {} does not exist; expected 1 to {}", text, *index,
                           *count, *count);
  }
  return Shard{*index, *count};
}

ShardBlocks::ShardBlocks(uint64_t all_blocks, Shard shard, uint64_t group_blocks)
    : all_blocks_(all_blocks),
      shard_(shard),
      group_blocks_(group_blocks > 0 ? group_blocks : BlocksPerGroup(all_blocks)) {
  assert(shard.index >= 1 && shard.index <= shard.count);
}

uint64_t ShardBlocks::all_groups() const {
  return (all_blocks_ + group_blocks_ - 1) / group_blocks_;
}

uint64_t ShardBlocks::SpanOf(uint64_t block) const {
  return block % group_blocks_ == 0 ? std::min(group_blocks_, all_blocks_ - block) : 0;
}

// Round robin: shards differ by at most one group.
uint64_t ShardBlocks::groups() const {
  const uint64_t all = all_groups();
  return all / shard_.count + (shard_.index <= all % shard_.count ? 1 : 0);
}

std::pair<uint64_t, uint64_t> ShardBlocks::GroupAt(uint64_t n) const {
  const uint64_t first = (n * shard_.count + shard_.index - 1) * group_blocks_;
  return {first, std::min(first + group_blocks_, all_blocks_)};
}

uint64_t ShardBlocks::blocks() const {
  if (groups() == 0) return 0;
  // Only the last group may be smaller.
  const auto [first, end] = GroupAt(groups() - 1);
  return (groups() - 1) * group_blocks_ + end - first;
}

uint64_t ShardBlocks::BlockAt(uint64_t n) const {
  return GroupAt(n / group_blocks_).first + n % group_blocks_;
}

}  // namespace reveza::fraudgen
