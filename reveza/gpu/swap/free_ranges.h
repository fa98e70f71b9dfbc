// First-fit allocator of ranges within [0, size); adjacent free ranges are merged. Used by slabs
// (GPU memory) and the host arena. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "common/base/bytes.h"

namespace reveza::swap {

class FreeRanges {
 public:
  explicit FreeRanges(Bytes size) : size_(size) { ranges_.push_back({0, size}); }

  // Returns the offset of `size` bytes, or nullopt. The caller rounds sizes to its own unit.
  std::optional<Bytes> Allocate(Bytes size) {
    const auto range =
        std::ranges::find_if(ranges_, [&](const Range& r) { return r.size >= size; });
    if (range == ranges_.end()) return std::nullopt;
    const Bytes offset = range->offset;
    range->offset += size;
    range->size -= size;
    if (range->size == 0) ranges_.erase(range);
    return offset;
  }

  // Frees a range returned by Allocate().
  void Free(Bytes offset, Bytes size) {
    auto range = ranges_.insert(std::ranges::lower_bound(ranges_, offset, {}, &Range::offset),
                                Range{offset, size});
    if (const auto next = range + 1; next != ranges_.end() && offset + size == next->offset) {
      range->size += next->size;
      ranges_.erase(next);
    }
    if (range == ranges_.begin()) return;
    if (const auto previous = range - 1; previous->offset + previous->size == offset) {
      previous->size += range->size;
      ranges_.erase(range);
    }
  }

  Bytes size() const { return size_; }

  bool empty() const { return ranges_.size() == 1 && ranges_[0].size == size_; }

 private:
  struct Range {
    Bytes offset;
    Bytes size;
  };
  Bytes size_;
  std::vector<Range> ranges_;  // by offset
};

}  // namespace reveza::swap
