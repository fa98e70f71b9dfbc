#include "fraudgen/output/columnar/writer_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace reveza::fraudgen {
namespace writer_memory_test {

constexpr int64_t kLarge = int64_t{1} << 18;
constexpr int64_t kAlignment = 64;

class WriterMemoryTest : public testing::Test {
 protected:
  uint8_t* Take(int64_t size) {
    uint8_t* buffer = nullptr;
    EXPECT_TRUE(memory_.Allocate(size, kAlignment, &buffer).ok());
    return buffer;
  }
  void Give(uint8_t* buffer, int64_t size) { memory_.Free(buffer, size, kAlignment); }
  // Allows caching this many bytes.
  void MayKeep(int64_t bytes) {
    Give(Take(bytes), bytes);
    memory_.ReleaseUnused();
  }

  WriterMemory memory_{*arrow::system_memory_pool()};
};

TEST_F(WriterMemoryTest, ReallocateKeepsContents) {
  MayKeep(4 * kLarge);
  for (const int64_t others : {0, 2}) {
    int64_t size = 1'000;
    uint8_t* buffer = Take(size);
    std::memset(buffer, 7, static_cast<std::size_t>(size));
    // Small, across the threshold, within and beyond the same pages, and back.
    for (const int64_t next : {100'000, 140'000, 200'000, 1'100'000, 3'000'000, 300'000, 5'000}) {
      // Cached buffers of every size, to move into one of them.
      for (int64_t i = 0; i < others; ++i) Give(Take(next), next);
      ASSERT_TRUE(memory_.Reallocate(size, next, kAlignment, &buffer).ok());
      size = next;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % kAlignment, 0u);
      EXPECT_EQ(memory_.bytes_allocated(), size);
      for (int64_t i = 0; i < 1'000; ++i) ASSERT_EQ(buffer[i], 7) << next << ' ' << i;
      buffer[size - 1] = 1;
    }
    Give(buffer, size);
    EXPECT_EQ(memory_.bytes_allocated(), 0);
  }
}

TEST_F(WriterMemoryTest, CacheIsLimitedToPeak) {
  std::vector<uint8_t*> buffers;
  constexpr int64_t kCount = 4;
  for (int64_t i = 0; i < kCount; ++i) buffers.push_back(Take(kLarge));
  EXPECT_EQ(memory_.cached(), 0);
  for (uint8_t* const buffer : buffers) Give(buffer, kLarge);
  EXPECT_EQ(memory_.max_memory(), kCount * kLarge);
  EXPECT_EQ(memory_.bytes_allocated(), 0);
  EXPECT_EQ(memory_.cached(), kCount * kLarge);
  Give(Take(2 * kLarge), 2 * kLarge);
  EXPECT_EQ(memory_.cached(), kCount * kLarge);
  memory_.ReleaseUnused();
  EXPECT_EQ(memory_.cached(), 0);
}

TEST_F(WriterMemoryTest, ReusesCachedBuffers) {
  MayKeep(4 * kLarge);
  uint8_t* const first = Take(kLarge);
  Give(first, kLarge);
  EXPECT_EQ(memory_.cached(), kLarge);
  // A slightly smaller buffer fits into the same pages.
  uint8_t* again = Take(kLarge - 4'096);
  EXPECT_EQ(again, first);
  EXPECT_EQ(memory_.cached(), 0);
  uint8_t* const larger = Take(2 * kLarge);
  Give(larger, 2 * kLarge);
  ASSERT_TRUE(memory_.Reallocate(kLarge - 4'096, 2 * kLarge, kAlignment, &again).ok());
  EXPECT_EQ(again, larger);
  EXPECT_EQ(memory_.cached(), kLarge);
  Give(again, 2 * kLarge);
}

TEST_F(WriterMemoryTest, ReportsOutOfMemory) {
  uint8_t* buffer = nullptr;
  EXPECT_TRUE(memory_.Allocate(int64_t{1} << 60, kAlignment, &buffer).IsOutOfMemory());
  buffer = Take(kLarge);
  EXPECT_TRUE(memory_.Reallocate(kLarge, int64_t{1} << 60, kAlignment, &buffer).IsOutOfMemory());
  EXPECT_EQ(memory_.bytes_allocated(), kLarge);
  Give(buffer, kLarge);
}

}  // namespace writer_memory_test
}  // namespace reveza::fraudgen
