#include "datagen/coherent/naming.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include "datagen/random.h"

namespace reveza::datagen::coherent {
namespace {

template <typename Names>
void ExpectManyAreLikeOne(const Names& naming, const std::vector<uint64_t>& numbers) {
  std::vector<uint64_t> upper(numbers.size());
  std::vector<uint64_t> lower = numbers;
  naming.Digits(lower, {upper, lower});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::array<char, 64> one{};
    std::array<char, 64> many{};
    char* const end = naming.Put(one.data(), numbers[i]);
    EXPECT_EQ(end - one.data(), Names::kWidth);
    naming.Put(many.data(), upper[i], lower[i]);
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
constexpr uint64_t kMostRows = 1'000'000'000'000'000;

TEST(Naming, ManyAtOnceAreLikeOneAfterTheOther) {
  ExpectManyAreLikeOne(Naming<4, 15>({"ACC_"}, 3), NumbersBelow(1'000'000'000'000'000));
  ExpectManyAreLikeOne(Naming<5, 12>({"CUST_"}, 5), NumbersBelow(1'000'000'000'000));
  ExpectManyAreLikeOne(Naming<6, 8>({"MERCH_"}, 6), NumbersBelow(100'000'000));
}

TEST(RowNaming, ManyAtOnceAreLikeOneAfterTheOther) {
  const RowNaming<4, 15> transactions({"TXN_"}, 3);
  for (const uint64_t first : {uint64_t{0}, 7 * kGroup + 5, kMostRows - 1'003}) {
    ExpectManyAreLikeOne(transactions, NumbersFrom(first));
  }
  ExpectManyAreLikeOne(transactions, NumbersFrom(3 * kGroup - 500));
  ExpectManyAreLikeOne(transactions, NumbersBelow(kMostRows));
  ExpectManyAreLikeOne(RowNaming<5, 12>({"RIDE_"}, 4), NumbersBelow(1'000'000'000'000));
  ExpectManyAreLikeOne(transactions, {});
}

TEST(RowOrder, GivesEachRowOfAGroupAnotherNumberOfOneGroup) {
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

TEST(RowOrder, GivesEachGroupAnotherNumberAndAnotherOrder) {
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

TEST(RowOrder, LeavesNoOrderWithinAGroup) {
  const RowOrder order(7, 15);
  int rising = 0;
  for (uint64_t i = 0; i < 10'000; ++i) rising += order.At(i) < order.At(i + 1) ? 1 : 0;
  EXPECT_NEAR(rising, 5'000, 200);
}

TEST(Naming, IsLettersAndDigits) {
  std::array<char, 64> text{};
  const Naming<6, 8> merchants({"MERCH_"}, 7);
  char* const end = merchants.Put(text.data(), 0);
  const std::string_view name(text.data(), static_cast<std::size_t>(end - text.data()));
  ASSERT_EQ(name.size(), 14u);
  EXPECT_EQ(name.substr(0, 6), "MERCH_");
  EXPECT_EQ(name.find_first_not_of("0123456789", 6), std::string_view::npos);
}

}  // namespace
}  // namespace reveza::datagen::coherent
