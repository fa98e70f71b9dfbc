#include "reveza/gpu/swap/free_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace reveza::swap {
namespace free_ranges_test {

TEST(FreeRangesTest, RangesAreDisjointAndMerged) {
  FreeRanges ranges(1024);
  std::mt19937 random(7);
  struct Taken {
    Bytes offset;
    Bytes size;
  };
  std::vector<Taken> taken;
  for (int i = 0; i < 10'000; ++i) {
    if (random() % 2 == 0 || taken.empty()) {
      const Bytes size = 1 + random() % 64;
      if (const auto offset = ranges.Allocate(size)) {
        for (const Taken& other : taken) {
          ASSERT_TRUE(*offset + size <= other.offset || other.offset + other.size <= *offset);
        }
        ASSERT_LE(*offset + size, 1024u);
        taken.push_back({*offset, size});
      }
    } else {
      const std::size_t which = random() % taken.size();
      ranges.Free(taken[which].offset, taken[which].size);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  for (const Taken& one : taken) ranges.Free(one.offset, one.size);
  EXPECT_TRUE(ranges.empty());
  EXPECT_EQ(ranges.Allocate(1024), 0u) << "ranges are merged";
  EXPECT_EQ(ranges.Allocate(1), std::nullopt);
}

}  // namespace free_ranges_test
}  // namespace reveza::swap
