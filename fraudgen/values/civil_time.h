// Calendar arithmetic without the C library: no locale, time zone or clock. A day is a count of
// days since 1970-01-01, a time a count of microseconds since that midnight; both may be negative.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace reveza::fraudgen {

struct CivilDate {
  int32_t year = 1970;
  int32_t month = 1;  // 1 to 12
  int32_t day = 1;    // 1 to 31

  friend bool operator==(const CivilDate&, const CivilDate&) = default;
};

enum class Weekday { kMonday, kTuesday, kWednesday, kThursday, kFriday, kSaturday, kSunday };

inline constexpr int64_t kMicrosecondsPerSecond = 1'000'000;
inline constexpr int64_t kMicrosecondsPerMinute = 60 * kMicrosecondsPerSecond;
inline constexpr int64_t kMicrosecondsPerHour = 60 * kMicrosecondsPerMinute;
inline constexpr int64_t kMicrosecondsPerDay = 86'400 * kMicrosecondsPerSecond;

// Returns the number of days in a Gregorian month; `month` is 1 to 12.
int32_t DaysInMonth(int32_t year, int32_t month);

// Convert between dates and day counts in the proleptic Gregorian calendar. `date` must exist.
int64_t DaysOf(CivilDate date);
CivilDate DateOf(int64_t days);
Weekday WeekdayOf(int64_t days);

// Returns the same day `months` later (earlier if negative), clamped to the last day of the month.
CivilDate AddMonths(CivilDate date, int32_t months);

// Parses YYYY-MM-DD, years 1 to 9999. kInvalidArgument if malformed or not in the calendar.
Result<CivilDate> ParseDate(std::string_view text);

// Format YYYY-MM-DD and YYYY-MM-DDTHH:MM:SS.ffffff; years 0 to 9999.
std::string FormatDate(CivilDate date);
std::string FormatTime(int64_t microseconds);

}  // namespace reveza::fraudgen
