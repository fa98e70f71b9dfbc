#include <gtest/gtest.h>

#include <array>

#include "fraudgen/check/key_check.h"

namespace reveza::fraudgen::check {
namespace number_set_test {

constexpr std::array<uint64_t, 7> kNumbers = {0, 1, 63, 64, 99, 100, UINT64_MAX / 2};

TEST(NumberSet, ContainsInsertedNumbers) {
  for (const bool dense : {true, false}) {
    NumberSet set(dense ? 100 : 0, {});
    for (const uint64_t number : kNumbers) {
      EXPECT_FALSE(set.Has(number)) << number;
      EXPECT_TRUE(set.Insert(number)) << number;
      EXPECT_FALSE(set.Insert(number)) << number;
      EXPECT_TRUE(set.Has(number)) << number;
    }
    EXPECT_FALSE(set.Has(2));
    EXPECT_FALSE(set.Has(101));
  }
}

TEST(NumberSet, Grows) {
  NumberSet set(0, {});
  for (uint64_t i = 0; i < 5'000; ++i) EXPECT_TRUE(set.Insert(i * i));
  for (uint64_t i = 0; i < 5'000; ++i) EXPECT_TRUE(set.Has(i * i));
  EXPECT_FALSE(set.Has(2));
}

TEST(NumberSet, PassesPartitionTheNumbers) {
  for (const uint64_t number : kNumbers) {
    int passes = 0;
    for (uint64_t index = 0; index < 3; ++index) {
      const Pass pass{.index = index, .count = 3};
      if (!pass.Has(number)) continue;
      ++passes;
      NumberSet set(100, pass);
      EXPECT_TRUE(set.Insert(number));
      EXPECT_FALSE(set.Insert(number));
      EXPECT_FALSE(set.Has(number + 3)) << "next number of the pass";
    }
    EXPECT_EQ(passes, 1) << number;
  }
}

}  // namespace number_set_test
}  // namespace reveza::fraudgen::check
