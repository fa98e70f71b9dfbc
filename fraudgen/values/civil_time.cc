#include "fraudgen/values/civil_time.h"

#include <fmt/format.h>

#include <chrono>

namespace reveza::fraudgen {
namespace {

namespace chrono = std::chrono;

chrono::year_month_day CalendarDate(CivilDate date) {
  return chrono::year(date.year) / date.month / date.day;
}

CivilDate FromCalendar(chrono::year_month_day date) {
  return {.year = static_cast<int>(date.year()),
          .month = static_cast<int32_t>(static_cast<unsigned>(date.month())),
          .day = static_cast<int32_t>(static_cast<unsigned>(date.day()))};
}

}  // namespace

int32_t DaysInMonth(int32_t year, int32_t month) {
  const auto last = (chrono::year(year) / month / chrono::last).day();
  return static_cast<int32_t>(static_cast<unsigned>(last));
}

int64_t DaysOf(CivilDate date) {
  return chrono::sys_days(CalendarDate(date)).time_since_epoch().count();
}

CivilDate DateOf(int64_t days) {
  return FromCalendar(chrono::sys_days(chrono::days(static_cast<int>(days))));
}

Weekday WeekdayOf(int64_t days) {
  const chrono::weekday weekday{chrono::sys_days(chrono::days(static_cast<int>(days)))};
  return static_cast<Weekday>(weekday.iso_encoding() - 1);
}

CivilDate AddMonths(CivilDate date, int32_t months) {
  const auto moved = CalendarDate(date) + chrono::months(months);
  return FromCalendar(moved.ok() ? moved : moved.year() / moved.month() / chrono::last);
}

Result<CivilDate> ParseDate(std::string_view text) {
  const auto invalid = [&](std::string_view reason) {
    return InvalidArgument("invalid date '{}': {}, for example 2026-01-31", text, reason);
  };
  static constexpr std::string_view kShape = "dddd-dd-dd";
  if (text.size() != kShape.size()) return invalid("expected YYYY-MM-DD");
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != '-') return invalid("expected YYYY-MM-DD");
  }
  const auto number = [&](size_t first, size_t count) {
    int32_t value = 0;
    for (const char digit : text.substr(first, count)) value = value * 10 + (digit - '0');
    return value;
  };
  const CivilDate date{.year = number(0, 4), .month = number(5, 2), .day = number(8, 2)};
  if (date.year < 1 || !CalendarDate(date).ok()) {
    return invalid("no such day in the calendar; expected YYYY-MM-DD");
  }
  return date;
}

std::string FormatDate(CivilDate date) {
  return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

std::string FormatTime(int64_t microseconds) {
  const auto time = chrono::microseconds(microseconds);
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::hh_mm_ss of_day(time - day);
  return fmt::format("{}T{:02}:{:02}:{:02}.{:06}", FormatDate(DateOf(day.count())),
                     of_day.hours().count(), of_day.minutes().count(), of_day.seconds().count(),
                     of_day.subseconds().count());
}

}  // namespace reveza::fraudgen
