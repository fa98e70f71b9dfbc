// Civil time without the C library: no locale, no time zone, no clock. A day is a count from
// 1970-01-01, a time a count of microseconds from its midnight; both may be negative.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace reveza::datagen {

struct CivilDate {
  int32_t year = 1970;
  int32_t month = 1;  // 1 to 12
  int32_t day = 1;    // 1 to 31

  friend bool operator==(const CivilDate&, const CivilDate&) = default;
};

enum class Weekday { kMonday, kTuesday, kWednesday, kThursday, kFriday, kSaturday, kSunday };

inline constexpr int64_t kMicrosecondsPerSecond = 1'000'000;
inline constexpr int64_t kMicrosecondsPerDay = 86'400 * kMicrosecondsPerSecond;

constexpr bool IsLeapYear(int32_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// Days in a month of the Gregorian calendar; `month` from 1 to 12.
int32_t DaysInMonth(int32_t year, int32_t month);

// The calendar is Gregorian throughout. `date` exists.
int64_t DaysOf(CivilDate date);
CivilDate DateOf(int64_t days);
Weekday WeekdayOf(int64_t days);

// The same day so many months later (or, negative, earlier), or the last day of a month that is too
// short for it.
CivilDate AddMonths(CivilDate date, int32_t months);

// Reads YYYY-MM-DD, years 1 to 9999, and refuses days that do not exist.
Result<CivilDate> ParseDate(std::string_view text);

// YYYY-MM-DD, and YYYY-MM-DDTHH:MM:SS.ffffff; years 0 to 9999.
using DateText = std::array<char, 10>;
using TimeText = std::array<char, 26>;
DateText FormatDate(CivilDate date);
TimeText FormatTime(int64_t microseconds);

}  // namespace reveza::datagen
