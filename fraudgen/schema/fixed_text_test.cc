#include "fraudgen/schema/fixed_text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen {
namespace fixed_text_test {

template <std::size_t kDigits>
std::string Digits(uint64_t value) {
  std::string text(kDigits, '?');
  WriteDigits<kDigits>(text.data(), value);
  return text;
}

TEST(FixedText, ZeroPadsDigits) {
  EXPECT_EQ(Digits<1>(7), "7");
  EXPECT_EQ(Digits<6>(0), "000000");
  EXPECT_EQ(Digits<8>(99'999'999), "99999999");
  EXPECT_EQ(Digits<9>(100'000'000), "100000000");
  EXPECT_EQ(Digits<16>(9'999'999'999'999'999), "9999999999999999");
}

TEST(FixedText, MatchesPrintfForFourDigits) {
  char expected[16];
  for (int value = 0; value < 10'000; ++value) {
    std::snprintf(expected, sizeof(expected), "%04d", value);
    ASSERT_EQ(Digits<4>(static_cast<uint64_t>(value)), expected);
    std::snprintf(expected, sizeof(expected), "%08d", value * 10'000);
    ASSERT_EQ(Digits<8>(static_cast<uint64_t>(value) * 10'000), expected);
  }
}

TEST(FixedText, WritesHexadecimalDigits) {
  const FieldRandom random(1, 2, 3);
  char text[17] = {};
  char expected[17];
  for (uint64_t row = 0; row < 1000; ++row) {
    WriteHex(text, random.Bits(row));
    std::snprintf(expected, sizeof(expected), "%016lx", random.Bits(row));
    ASSERT_STREQ(text, expected);
  }
  WriteHex(text, 0x0123456789abcdef);
  EXPECT_STREQ(text, "0123456789abcdef");
}

template <std::size_t kPrefix, std::size_t kDigits>
std::string Written(const Identifier<kPrefix, kDigits>& id, uint64_t number) {
  std::string text(id.kWidth, '?');
  id.Write(text.data(), number);
  return text;
}

TEST(FixedText, WritesIdentifiersOfAnyWidth) {
  EXPECT_EQ(Written(Identifier<6, 6>{"MERCH_"}, 100'000), "MERCH_100000");
  EXPECT_EQ(Written(Identifier<1, 2>{"A"}, 7), "A07");
  EXPECT_EQ(Written(Identifier<4, 10>{"DRV_"}, 1'234'567'890), "DRV_1234567890");
  EXPECT_EQ(Written(Identifier<4, 15>{"TXN_"}, 123'456'789'012'345), "TXN_123456789012345");
  EXPECT_EQ(Written(Identifier<5, 12>{"CUST_"}, 1), "CUST_000000000001");
}

TEST(FixedText, SixteenDigitsCacheFollowsTheNumber) {
  SixteenDigits digits;
  const Identifier<4, 12> id = {"DEV_"};
  std::string text(16, '?');
  for (const auto& [number, expected] :
       {std::pair<uint64_t, std::string_view>{5, "DEV_000000000005"},
        {99'999'999, "DEV_000099999999"},
        {100'000'000, "DEV_000100000000"},
        {7, "DEV_000000000007"}}) {
    digits.Set(number);
    id.Write(text.data(), digits);
    EXPECT_EQ(text, expected);
  }
}

TEST(FixedText, FillsAColumn) {
  constexpr Identifier<4, 12> kId = {"DEV_"};
  ColumnValues column;
  char* at = BeginFixedTexts(column, 2, kId.kWidth);
  kId.Write(at, 1);
  kId.Write(at + kId.kWidth, 123'456'789'012);
  EXPECT_EQ(column.TextAt(0), "DEV_000000000001");
  EXPECT_EQ(column.TextAt(1), "DEV_123456789012");
}

}  // namespace fixed_text_test
}  // namespace reveza::fraudgen
