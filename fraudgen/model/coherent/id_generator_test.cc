#include "fraudgen/model/coherent/id_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {
namespace id_generator_test {

template <typename Names>
void ExpectManyAreLikeOne(const Names& ids, const std::vector<uint64_t>& numbers) {
  std::vector<uint64_t> upper(numbers.size());
  std::vector<uint64_t> lower = numbers;
  ids.Digits(lower, {upper, lower});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::array<char, 64> one{};
    std::array<char, 64> many{};
    char* const end = ids.Put(one.data(), numbers[i]);
    EXPECT_EQ(end - one.data(), Names::kWidth);
    ids.Put(many.data(), upper[i], lower[i]);
    ASSERT_EQ(std::string_view(one.data(), Names::kWidth),
              std::string_view(many.data(), Names::kWidth))
        << numbers[i];
  }
}

std::vector<uint64_t> NumbersBelow(uint64_t below) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 1'003; ++i) numbers.push_back(i < 100 ? i : Mix(i) % below);
  numbers.back() = below - 1;
  return numbers;
}

std::vector<uint64_t> NumbersFrom(uint64_t first) {
  std::vector<uint64_t> numbers(1'003);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

constexpr uint64_t kGroup = 100'000'000;
constexpr uint64_t kMaxRows = 1'000'000'000'000'000;

TEST(IdGenerator, BatchesMatchSingleCalls) {
  ExpectManyAreLikeOne(IdGenerator<4, 15>({"ACC_"}, 3), NumbersBelow(1'000'000'000'000'000));
  ExpectManyAreLikeOne(IdGenerator<5, 12>({"CUST_"}, 5), NumbersBelow(1'000'000'000'000));
  ExpectManyAreLikeOne(IdGenerator<6, 8>({"MERCH_"}, 6), NumbersBelow(100'000'000));
}

TEST(RowIdGenerator, BatchesMatchSingleCalls) {
  const RowIdGenerator<4, 15> transactions({"TXN_"}, 3);
  for (const uint64_t first : {uint64_t{0}, 7 * kGroup + 5, kMaxRows - 1'003}) {
    ExpectManyAreLikeOne(transactions, NumbersFrom(first));
  }
  ExpectManyAreLikeOne(transactions, NumbersFrom(3 * kGroup - 500));
  ExpectManyAreLikeOne(transactions, NumbersBelow(kMaxRows));
  ExpectManyAreLikeOne(RowIdGenerator<5, 12>({"RIDE_"}, 4), NumbersBelow(1'000'000'000'000));
  ExpectManyAreLikeOne(transactions, {});
}

TEST(RowOrder, PermutesRowsWithinAGroup) {
  const RowOrder order(5, 15);
  const uint64_t group = order.At(2 * kGroup) / kGroup;
  std::set<uint64_t> seen;
  for (uint64_t row = 2 * kGroup; row < 3 * kGroup; row += 999) {
    const uint64_t number = order.At(row);
    ASSERT_EQ(number / kGroup, group) << row;
    ASSERT_TRUE(seen.insert(number).second) << row;
  }
  EXPECT_EQ(order.At(3 * kGroup - 1) / kGroup, group);
  EXPECT_NE(order.At(3 * kGroup) / kGroup, group);
}

TEST(RowOrder, GroupsDifferInPrefixAndOrder) {
  const RowOrder order(5, 10);
  std::set<uint64_t> groups;
  std::set<uint64_t> first;
  for (uint64_t group = 0; group < 100; ++group) {
    groups.insert(order.At(group * kGroup) / kGroup);
    first.insert(order.At(group * kGroup) % kGroup);
  }
  EXPECT_EQ(groups.size(), 100u);
  EXPECT_EQ(first.size(), 100u);
}

TEST(RowOrder, ShufflesWithinAGroup) {
  const RowOrder order(7, 15);
  int rising = 0;
  for (uint64_t i = 0; i < 10'000; ++i) rising += order.At(i) < order.At(i + 1) ? 1 : 0;
  EXPECT_NEAR(rising, 5'000, 200);
}

TEST(IdGenerator, WritesPrefixAndDigits) {
  std::array<char, 64> text{};
  const IdGenerator<6, 8> merchants({"MERCH_"}, 7);
  char* const end = merchants.Put(text.data(), 0);
  const std::string_view name(text.data(), static_cast<std::size_t>(end - text.data()));
  ASSERT_EQ(name.size(), 14u);
  EXPECT_EQ(name.substr(0, 6), "MERCH_");
  EXPECT_EQ(name.find_first_not_of("0123456789", 6), std::string_view::npos);
}

}  // namespace id_generator_test

namespace scramble_test {

TEST(Scramble, IsABijection) {
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

TEST(Scramble, IsWellMixed) {
  const Scramble scramble(7, 1'000'000'000'000'000);
  std::vector<uint64_t> numbers;
  int rising = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    numbers.push_back(scramble.At(i));
    rising += i > 0 && numbers[i] > numbers[i - 1] ? 1 : 0;
  }
  EXPECT_NEAR(rising, 5'000, 200);
  // First and last digits are uniform.
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

}  // namespace scramble_test
}  // namespace reveza::fraudgen::coherent
