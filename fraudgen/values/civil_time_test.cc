#include "fraudgen/values/civil_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace reveza::fraudgen {
namespace civil_time_test {

// Day by day against the standard library's calendar, across 800 years and the year 0.
TEST(CivilTime, MatchesStdChrono) {
  namespace chrono = std::chrono;
  const int64_t first = -720'000;
  const int64_t last = 80'000;
  for (int64_t days = first; days <= last; ++days) {
    const chrono::sys_days moment{chrono::days(days)};
    const chrono::year_month_day expected(moment);
    const CivilDate date = DateOf(days);
    ASSERT_EQ(date.year, static_cast<int>(expected.year())) << days;
    ASSERT_EQ(date.month, static_cast<int>(static_cast<unsigned>(expected.month()))) << days;
    ASSERT_EQ(date.day, static_cast<int>(static_cast<unsigned>(expected.day()))) << days;
    ASSERT_EQ(DaysOf(date), days);
    const auto weekday = static_cast<int>(chrono::weekday(moment).iso_encoding()) - 1;
    ASSERT_EQ(static_cast<int>(WeekdayOf(days)), weekday) << days;
  }
}

TEST(CivilTime, ConvertsKnownDates) {
  EXPECT_EQ(DaysOf({1970, 1, 1}), 0);
  EXPECT_EQ(DaysOf({2000, 2, 29}), 11'016);
  EXPECT_EQ(DateOf(-1), (CivilDate{1969, 12, 31}));
  EXPECT_EQ(WeekdayOf(DaysOf({2024, 2, 29})), Weekday::kThursday);
  EXPECT_EQ(WeekdayOf(DaysOf({1822, 9, 7})), Weekday::kSaturday);
  EXPECT_EQ(DaysInMonth(2024, 2), 29);
  EXPECT_EQ(DaysInMonth(2023, 2), 28);
  EXPECT_EQ(DaysInMonth(2023, 4), 30);
  EXPECT_EQ(DaysInMonth(2023, 12), 31);
}

TEST(AddMonths, ClampsToTheLastDayOfTheMonth) {
  EXPECT_EQ(AddMonths({2026, 1, 31}, 1), (CivilDate{2026, 2, 28}));
  EXPECT_EQ(AddMonths({2024, 1, 31}, 1), (CivilDate{2024, 2, 29}));
  EXPECT_EQ(AddMonths({2026, 3, 15}, -3), (CivilDate{2025, 12, 15}));
  EXPECT_EQ(AddMonths({2026, 12, 1}, 1), (CivilDate{2027, 1, 1}));
  EXPECT_EQ(AddMonths({2024, 2, 29}, -12), (CivilDate{2023, 2, 28}));
  EXPECT_EQ(AddMonths({2026, 5, 5}, 0), (CivilDate{2026, 5, 5}));
}

TEST(ParseDate, RoundTripsWithFormatDate) {
  for (const char* text : {"0001-01-01", "2024-02-29", "2026-11-21", "9999-12-31"}) {
    const auto date = ParseDate(text);
    ASSERT_TRUE(date) << text;
    EXPECT_EQ(FormatDate(*date), text);
  }
}

TEST(ParseDate, RejectsMalformedAndNonexistentDates) {
  for (const char* text :
       {"", "2026", "2026-1-01", "2026/01/01", "2026-01-01 ", "20x6-01-01", "2026-00-10",
        "2026-13-10", "2026-04-31", "2023-02-29", "2026-01-00", "0000-01-01", "-026-01-01"}) {
    const auto date = ParseDate(text);
    ASSERT_FALSE(date) << text;
    EXPECT_EQ(date.error().code, Error::Code::kInvalidArgument);
    EXPECT_NE(date.error().message.find("2026-01-31"), std::string::npos) << "shows an example";
  }
}

TEST(FormatTime, WritesMicroseconds) {
  EXPECT_EQ(FormatTime(0), "1970-01-01T00:00:00.000000");
  EXPECT_EQ(FormatTime(-1), "1969-12-31T23:59:59.999999");
  const int64_t noon = DaysOf({2026, 11, 21}) * kMicrosecondsPerDay +
                       (12 * 3600 + 34 * 60 + 56) * kMicrosecondsPerSecond + 7;
  EXPECT_EQ(FormatTime(noon), "2026-11-21T12:34:56.000007");
}

}  // namespace civil_time_test
}  // namespace reveza::fraudgen
