#include <gtest/gtest.h>

#include <vector>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen {
namespace permutation_test {

TEST(Permutation, KeepsItsGoldenValues) {
  const Permutation order(42, 1'000'000);
  EXPECT_EQ(order.At(0), 779'815u);
  EXPECT_EQ(order.At(1), 72'129u);
  EXPECT_EQ(order.At(999'999), 837'710u);
  EXPECT_EQ(Permutation(1, uint64_t{1} << 62).At(12345), 3'716'086'636'901'897'339u);
}

TEST(Permutation, IsABijectionWithInverse) {
  for (uint64_t size : {1, 2, 3, 4, 5, 16, 17, 100, 1000, 4096, 4097}) {
    for (uint64_t key : {0, 1, 99}) {
      const Permutation order(key, size);
      ASSERT_EQ(order.size(), size);
      std::vector<bool> given(size);
      for (uint64_t index = 0; index < size; ++index) {
        const uint64_t number = order.At(index);
        ASSERT_LT(number, size);
        EXPECT_FALSE(given[number]) << number << " twice of " << size;
        given[number] = true;
        EXPECT_EQ(order.IndexOf(number), index);
      }
    }
  }
}

TEST(Permutation, InvertsTheLargestRanges) {
  for (uint64_t size : {uint64_t{1} << 62, (uint64_t{1} << 62) - 5, (uint64_t{1} << 60) + 1}) {
    const Permutation order(7, size);
    for (uint64_t index : {uint64_t{0}, uint64_t{1}, size / 2, size - 1}) {
      ASSERT_LT(order.At(index), size);
      EXPECT_EQ(order.IndexOf(order.At(index)), index);
    }
  }
}

TEST(Permutation, DependsOnTheKey) {
  const Permutation one(1, 10'000);
  const Permutation two(2, 10'000);
  int same = 0;
  int in_place = 0;
  for (uint64_t index = 0; index < 10'000; ++index) {
    same += one.At(index) == two.At(index) ? 1 : 0;
    in_place += one.At(index) == index ? 1 : 0;
  }
  // Each has an expected value of 1; ten or more occur once in nine million keys.
  EXPECT_LT(same, 10);
  EXPECT_LT(in_place, 10);
}

}  // namespace permutation_test
}  // namespace reveza::fraudgen
