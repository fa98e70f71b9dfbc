#include "datagen/coherent/naming.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "datagen/random.h"

namespace reveza::datagen::coherent {
namespace {

template <std::size_t kPrefix, std::size_t kDigits>
void ExpectManyAreLikeOne(const Naming<kPrefix, kDigits>& naming, uint64_t below) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 1'003; ++i) numbers.push_back(i < 100 ? i : Mix(i) % below);
  numbers.back() = below - 1;
  std::vector<uint64_t> upper(numbers.size());
  std::vector<uint64_t> lower = numbers;
  ScrambledDigits(naming.order(), lower, {upper, lower});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::array<char, 64> one{};
    std::array<char, 64> many{};
    char* const end = naming.Put(one.data(), numbers[i]);
    EXPECT_EQ(end - one.data(), kPrefix + kDigits);
    naming.Put(many.data(), upper[i], lower[i]);
    ASSERT_EQ(std::string_view(one.data(), kPrefix + kDigits),
              std::string_view(many.data(), kPrefix + kDigits))
        << numbers[i];
  }
}

TEST(Naming, ManyAtOnceAreLikeOneAfterTheOther) {
  ExpectManyAreLikeOne(Naming<4, 15>({"TXN_"}, 3), 1'000'000'000'000'000);
  ExpectManyAreLikeOne(Naming<5, 15>({"SESS_"}, 4), 1'000'000'000'000'000);
  ExpectManyAreLikeOne(Naming<5, 12>({"CUST_"}, 5), 1'000'000'000'000);
  ExpectManyAreLikeOne(Naming<6, 8>({"MERCH_"}, 6), 100'000'000);
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
