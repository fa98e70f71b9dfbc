#include "fraudgen/values/text_format.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen {
namespace text_format_test {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string Decimal(int64_t value, int places) {
  std::string text = "x";
  AppendDecimal(text, value, places);
  EXPECT_EQ(text[0], 'x') << "appends";
  return text.substr(1);
}

std::string Csv(std::string_view value, char separator = ',') {
  std::string text;
  AppendCsvText(text, value, separator);
  return text;
}

std::string Json(std::string_view value) {
  std::string text;
  AppendJsonText(text, value);
  return text;
}

TEST(AppendInteger, CoversTheWholeRange) {
  std::string text;
  AppendInteger(text, 0);
  AppendInteger(text, kMin);
  AppendInteger(text, kMax);
  EXPECT_EQ(text, "0-92233720368547758089223372036854775807");
}

TEST(AppendDecimal, WritesAllDecimalPlaces) {
  EXPECT_EQ(Decimal(0, 2), "0.00");
  EXPECT_EQ(Decimal(5, 2), "0.05");
  EXPECT_EQ(Decimal(-5, 2), "-0.05");
  EXPECT_EQ(Decimal(1250, 2), "12.50");
  EXPECT_EQ(Decimal(100, 2), "1.00");
  EXPECT_EQ(Decimal(-23'550'520, 6), "-23.550520");
  EXPECT_EQ(Decimal(0, 0), "0");
  EXPECT_EQ(Decimal(-1200, 0), "-1200");
  EXPECT_EQ(Decimal(kMax, 18), "9.223372036854775807");
  EXPECT_EQ(Decimal(kMin, 18), "-9.223372036854775808");
  EXPECT_EQ(Decimal(kMin, 0), "-9223372036854775808");
  EXPECT_EQ(Decimal(1, 18), "0.000000000000000001");
}

TEST(AppendDecimal, MatchesPrintf) {
  const FieldRandom random(1, 0, 0);
  for (uint64_t row = 0; row < 20'000; ++row) {
    const int64_t cents = random.Between(-99'999'999, 99'999'999, row);
    char expected[32];
    std::snprintf(expected, sizeof expected, "%.2f", static_cast<double>(cents) / 100);
    ASSERT_EQ(Decimal(cents, 2), expected);
  }
}

TEST(AppendCsvText, QuotesSeparatorsQuotesAndLineBreaks) {
  EXPECT_EQ(Csv("Padaria do Zé"), "Padaria do Zé");
  EXPECT_EQ(Csv("Rua A, 5"), "\"Rua A, 5\"");
  EXPECT_EQ(Csv("Rua A, 5", '\t'), "Rua A, 5");
  EXPECT_EQ(Csv("a\tb", '\t'), "\"a\tb\"");
  EXPECT_EQ(Csv("o \"Zé\""), "\"o \"\"Zé\"\"\"");
  EXPECT_EQ(Csv("a\nb"), "\"a\nb\"");
  EXPECT_EQ(Csv("a\rb"), "\"a\rb\"");
  EXPECT_EQ(Csv(""), "\"\"") << "distinct from null";
}

TEST(AppendJsonText, EscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(Json(""), "\"\"");
  EXPECT_EQ(Json("São Paulo"), "\"São Paulo\"");
  EXPECT_EQ(Json("a\"b\\c\nd\re\tf"), "\"a\\\"b\\\\c\\nd\\re\\tf\"");
  EXPECT_EQ(Json(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
}

TEST(AppendJsonText, RoundTripsThroughNlohmannJson) {
  for (int first = 0; first < 128; ++first) {
    for (int second = 0; second < 128; ++second) {
      const std::string value = {static_cast<char>(first), static_cast<char>(second), 'z'};
      const auto parsed = nlohmann::json::parse(Json(value), nullptr, false);
      ASSERT_TRUE(parsed.is_string()) << first << " " << second;
      ASSERT_EQ(parsed.get<std::string>(), value);
    }
  }
}

}  // namespace text_format_test
}  // namespace reveza::fraudgen
