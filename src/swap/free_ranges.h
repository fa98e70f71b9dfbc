// A set of free ranges within [0, size): first fit, neighbours join. The sub-allocator of slabs
// (GPU memory) and of the host arena. Thread-safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace reveza::swap {

class FreeRanges {
 public:
  explicit FreeRanges(Bytes size) : size_(size), free_(size) { ranges_.push_back({0, size}); }

  // Offset of `size` bytes, which must be a multiple of the unit that the owner hands out.
  std::optional<Bytes> Take(Bytes size) {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      Range& range = ranges_[i];
      if (range.size < size) continue;
      const Bytes offset = range.offset;
      range.offset += size;
      range.size -= size;
      if (range.size == 0) ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
      free_ -= size;
      return offset;
    }
    return std::nullopt;
  }

  // Gives back exactly what Take gave.
  void Give(Bytes offset, Bytes size) {
    std::size_t i = 0;
    while (i < ranges_.size() && ranges_[i].offset < offset) ++i;
    ranges_.insert(ranges_.begin() + static_cast<std::ptrdiff_t>(i), Range{offset, size});
    if (i + 1 < ranges_.size() && offset + size == ranges_[i + 1].offset) {
      ranges_[i].size += ranges_[i + 1].size;
      ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i + 1));
    }
    if (i > 0 && ranges_[i - 1].offset + ranges_[i - 1].size == ranges_[i].offset) {
      ranges_[i - 1].size += ranges_[i].size;
      ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    free_ += size;
  }

  Bytes size() const { return size_; }
  Bytes free() const { return free_; }
  bool empty() const { return free_ == size_; }

 private:
  struct Range {
    Bytes offset;
    Bytes size;
  };
  Bytes size_;
  Bytes free_;
  std::vector<Range> ranges_;  // by offset
};

}  // namespace reveza::swap
