#include "datagen/coherent/scramble.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace reveza::datagen::coherent {
namespace {

TEST(Scramble, GivesEachNumberOnce) {
  for (const uint64_t size : {1u, 2u, 3u, 5u, 64u, 1'000u, 65'537u}) {
    for (const uint64_t key : {0u, 1u, 99u}) {
      const Scramble scramble(key, size);
      std::vector<bool> seen(size);
      for (uint64_t i = 0; i < size; ++i) {
        const uint64_t number = scramble.At(i);
        ASSERT_LT(number, size);
        ASSERT_FALSE(seen[number]);
        seen[number] = true;
      }
    }
  }
}

TEST(Scramble, LeavesNoOrder) {
  const Scramble scramble(7, 1'000'000'000'000'000);
  std::vector<uint64_t> numbers;
  int rising = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    numbers.push_back(scramble.At(i));
    rising += i > 0 && numbers[i] > numbers[i - 1] ? 1 : 0;
  }
  EXPECT_NEAR(rising, 5'000, 200);
  // Each tenth of the range has its share, and so have the last digits.
  std::array<int, 10> first{};
  std::array<int, 10> last{};
  for (const uint64_t number : numbers) {
    ++first[number / 100'000'000'000'000];
    ++last[number % 10];
  }
  EXPECT_GT(std::ranges::min(first), 850);
  EXPECT_GT(std::ranges::min(last), 850);
}

TEST(Scramble, DependsOnTheKey) {
  EXPECT_NE(Scramble(1, 1'000'000).At(5), Scramble(2, 1'000'000).At(5));
  EXPECT_EQ(Scramble(1, 1'000'000).At(5), Scramble(1, 1'000'000).At(5));
}

}  // namespace
}  // namespace reveza::datagen::coherent
