#include "datagen/civil_time.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace reveza::datagen {
namespace {

// Years counted from March have their leap day at the end, and repeat after 400 of them.
constexpr int64_t kDaysPer400Years = 146'097;
constexpr int64_t kDaysFrom0000March1To1970 = 719'468;

constexpr int64_t FloorDivide(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

void WriteDigits(char* to, int count, int64_t value) {
  for (int place = count - 1; place >= 0; --place, value /= 10) {
    to[place] = static_cast<char>('0' + value % 10);
  }
}

}  // namespace

int32_t DaysInMonth(int32_t year, int32_t month) {
  assert(month >= 1 && month <= 12);
  static constexpr int32_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[month - 1] + (month == 2 && IsLeapYear(year) ? 1 : 0);
}

int64_t DaysOf(CivilDate date) {
  const int64_t year = int64_t{date.year} - (date.month <= 2 ? 1 : 0);
  const int64_t cycle = FloorDivide(year, 400);
  const int64_t year_of_cycle = year - cycle * 400;
  const int64_t month_from_march = (date.month + 9) % 12;
  const int64_t day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
  const int64_t day_of_cycle =
      year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
  return cycle * kDaysPer400Years + day_of_cycle - kDaysFrom0000March1To1970;
}

CivilDate DateOf(int64_t days) {
  days += kDaysFrom0000March1To1970;
  const int64_t cycle = FloorDivide(days, kDaysPer400Years);
  const int64_t day_of_cycle = days - cycle * kDaysPer400Years;
  const int64_t year_of_cycle =
      (day_of_cycle - day_of_cycle / 1'460 + day_of_cycle / 36'524 - day_of_cycle / 146'096) / 365;
  const int64_t day_of_year =
      day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {.year = static_cast<int32_t>(cycle * 400 + year_of_cycle + (month <= 2 ? 1 : 0)),
          .month = static_cast<int32_t>(month),
          .day = static_cast<int32_t>(day_of_year - (153 * month_from_march + 2) / 5 + 1)};
}

Weekday WeekdayOf(int64_t days) {
  constexpr int64_t kWeekdayOf1970 = 3;  // a Thursday
  const int64_t shifted = days + kWeekdayOf1970;
  return static_cast<Weekday>(shifted - FloorDivide(shifted, 7) * 7);
}

CivilDate AddMonths(CivilDate date, int32_t months) {
  const int64_t month = int64_t{date.year} * 12 + date.month - 1 + months;
  const int64_t year = FloorDivide(month, 12);
  CivilDate moved{.year = static_cast<int32_t>(year),
                  .month = static_cast<int32_t>(month - year * 12 + 1)};
  moved.day = std::min(date.day, DaysInMonth(moved.year, moved.month));
  return moved;
}

Result<CivilDate> ParseDate(std::string_view text) {
  const auto refuse = [&](const char* what) {
    return Fail(Error::Code::kInvalidArgument,
                "'" + std::string(text) + "' is no date: " + what + ", for example 2026-01-31");
  };
  static constexpr std::string_view kShape = "dddd-dd-dd";
  if (text.size() != kShape.size()) return refuse("write YYYY-MM-DD");
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != '-') return refuse("write YYYY-MM-DD");
  }
  const auto number = [&](size_t first, size_t count) {
    int32_t value = 0;
    for (const char digit : text.substr(first, count)) value = value * 10 + (digit - '0');
    return value;
  };
  const CivilDate date{.year = number(0, 4), .month = number(5, 2), .day = number(8, 2)};
  if (date.year < 1 || date.month < 1 || date.month > 12 || date.day < 1 ||
      date.day > DaysInMonth(date.year, date.month)) {
    return refuse("the calendar has no such day; write YYYY-MM-DD");
  }
  return date;
}

DateText FormatDate(CivilDate date) {
  assert(date.year >= 0 && date.year <= 9999);
  DateText text{};
  WriteDigits(text.data(), 4, date.year);
  text[4] = '-';
  WriteDigits(text.data() + 5, 2, date.month);
  text[7] = '-';
  WriteDigits(text.data() + 8, 2, date.day);
  return text;
}

TimeText FormatTime(int64_t microseconds) {
  const int64_t days = FloorDivide(microseconds, kMicrosecondsPerDay);
  const int64_t of_day = microseconds - days * kMicrosecondsPerDay;
  const int64_t second = of_day / kMicrosecondsPerSecond;
  TimeText text{};
  std::ranges::copy(FormatDate(DateOf(days)), text.begin());
  text[10] = 'T';
  WriteDigits(text.data() + 11, 2, second / 3600);
  text[13] = ':';
  WriteDigits(text.data() + 14, 2, second / 60 % 60);
  text[16] = ':';
  WriteDigits(text.data() + 17, 2, second % 60);
  text[19] = '.';
  WriteDigits(text.data() + 20, 6, of_day % kMicrosecondsPerSecond);
  return text;
}

}  // namespace reveza::datagen
