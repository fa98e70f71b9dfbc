#include "fraudgen/values/digits.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/random.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen {
namespace digits_test {

template <typename Write>
std::string Written(const Write& write) {
  char room[kMaxNumberBytes + 1];
  std::memset(room, '#', sizeof room);
  std::string text(room, write(room));
  EXPECT_EQ(room[kMaxNumberBytes], '#') << "wrote past kMaxNumberBytes";
  return text;
}

std::string Integer(int64_t value) {
  return Written([&](char* out) { return PutInteger(out, value); });
}

template <int Places>
void CompareDecimal(int64_t value) {
  std::string expected;
  AppendDecimal(expected, value, Places);
  ASSERT_EQ(Written([&](char* out) { return PutDecimal<Places>(out, value); }), expected);
}

// Calls `check` for values around each power of ten, and many random ones.
template <typename Check>
void ForManyNumbers(const Check& check) {
  for (uint64_t power = 1;; power *= 10) {
    for (const uint64_t value : {power - 1, power, power + 1, 5 * (power / 4)}) {
      check(static_cast<int64_t>(value));
      check(-static_cast<int64_t>(value));
    }
    if (power > std::numeric_limits<int64_t>::max() / 10) break;
  }
  check(std::numeric_limits<int64_t>::max());
  check(std::numeric_limits<int64_t>::min());
  const FieldRandom random(3, 0, 0);
  for (uint64_t row = 0; row < 100'000; ++row) {
    check(static_cast<int64_t>(random.Bits(row)) >> random.Below(64, row, 1));
  }
}

TEST(Digits, FormatsEveryFourDigitNumberInBothHalves) {
  for (uint64_t value = 0; value < 10'000; ++value) {
    char expected[9];
    std::snprintf(expected, sizeof expected, "%04d%04d", static_cast<int>(value),
                  static_cast<int>(9'999 - value));
    const uint64_t text = EightDigits(value * 10'000 + 9'999 - value) + kZeros;
    ASSERT_EQ(std::memcmp(&text, expected, 8), 0) << expected;
  }
}

TEST(Digits, IntegersMatchStdToString) {
  ForManyNumbers([](int64_t value) { ASSERT_EQ(Integer(value), std::to_string(value)); });
}

TEST(Digits, DecimalsMatchAppendDecimal) {
  ForManyNumbers([](int64_t value) {
    CompareDecimal<1>(value);
    CompareDecimal<2>(value);
    CompareDecimal<6>(value);
    CompareDecimal<8>(value);
  });
}

std::string Day(int64_t days) {
  return Written([&](char* out) { return PutDay(out, days); });
}

std::string Time(int64_t microseconds) {
  return Written([&](char* out) { return TimeWriter().Put(out, microseconds); });
}

TEST(Digits, TimeWriterHandlesChangesOfDay) {
  TimeWriter times;
  const int64_t day = kMicrosecondsPerDay;
  for (const int64_t time : {int64_t{0}, day - 1, day, 3 * day + 7, 3 * day + 8, -day, -day + 1}) {
    EXPECT_EQ(Written([&](char* out) { return times.Put(out, time); }), Time(time));
  }
}

TEST(Digits, DaysMatchFormatDateForYears0To9999) {
  const int64_t last = DaysOf({.year = 9999, .month = 12, .day = 31});
  for (int64_t days = DaysOf({.year = 0, .month = 1, .day = 1}); days <= last; ++days) {
    const std::string expected = FormatDate(DateOf(days));
    char room[kMaxNumberBytes];
    ASSERT_EQ(PutDay(room, days), room + expected.size());
    ASSERT_EQ(std::memcmp(room, expected.data(), expected.size()), 0) << Day(days);
  }
}

TEST(Digits, TimesMatchFormatTime) {
  EXPECT_EQ(Time(0), "1970-01-01T00:00:00.000000");
  EXPECT_EQ(Time(-1), "1969-12-31T23:59:59.999999");
  const int64_t first = DaysOf({.year = 0, .month = 1, .day = 1}) * kMicrosecondsPerDay;
  const int64_t last = DaysOf({.year = 9999, .month = 12, .day = 31}) * kMicrosecondsPerDay +
                       kMicrosecondsPerDay - 1;
  EXPECT_EQ(Time(first), "0000-01-01T00:00:00.000000");
  EXPECT_EQ(Time(last), "9999-12-31T23:59:59.999999");
  const FieldRandom random(4, 0, 0);
  for (uint64_t row = 0; row < 100'000; ++row) {
    const int64_t time = random.Between(first, last, row);
    ASSERT_EQ(Time(time), FormatTime(time));
  }
}

TEST(Digits, LastDigitsKeepLeadingZeros) {
  EXPECT_EQ(Written([](char* out) { return PutLastDigits(out, 7, 2); }), "07");
  EXPECT_EQ(Written([](char* out) { return PutLastDigits(out, 0, 6); }), "000000");
  EXPECT_EQ(Written([](char* out) { return PutLastDigits(out, 12'345'678, 8); }), "12345678");
}

}  // namespace digits_test
}  // namespace reveza::fraudgen
