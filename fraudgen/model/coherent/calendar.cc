#include "fraudgen/model/coherent/calendar.h"

#include <algorithm>

#include "fraudgen/lists/weights.h"

namespace reveza::fraudgen::coherent {
namespace {

uint32_t DayWeight(int64_t day, const CalendarParameters& calendar, const ProfileHabits& profile,
                   int32_t payday) {
  uint32_t weight = 100;
  const Weekday weekday = WeekdayOf(day);
  if (weekday == Weekday::kSaturday || weekday == Weekday::kSunday) {
    weight = weight * profile.weekend_percent / 100;
  }
  const CivilDate date = DateOf(day);
  const int32_t paid = std::min(payday, DaysInMonth(date.year, date.month));
  if (date.day >= paid && date.day < paid + static_cast<int32_t>(calendar.payday_days)) {
    weight = weight * calendar.payday_percent / 100;
  }
  if (date.month == 12 && date.day >= 12 && date.day <= 24) {
    weight = weight * calendar.christmas_percent / 100;
  }
  return std::max(1u, weight);
}

}  // namespace

std::vector<Slice> SlicesOf(const World& world) {
  std::vector<Slice> slices;
  int64_t day = world.parameters().first_day;
  while (day <= world.parameters().last_day) {
    const CivilDate date = DateOf(day);
    const int64_t next = DaysOf(AddMonths({date.year, date.month, 1}, 1));
    const int64_t end = std::min(next, world.parameters().last_day + 1);
    slices.push_back(
        {.index = static_cast<uint32_t>(slices.size()),
         .first_day = day,
         .days = end - day,
         .season = world.parameters().calendar.months[static_cast<std::size_t>(date.month - 1)]});
    day = end;
  }
  return slices;
}

bool IsBankingTime(int64_t time) {
  const int64_t hour = time % kDay / kHour;
  return hour >= kBankOpens && hour < kBankCloses && WeekdayOf(time / kDay) < Weekday::kSaturday;
}

uint64_t Activity(const Person& person, const Slice& slice) {
  const int64_t from = std::max(slice.begin(), person.opened_at);
  const int64_t until = std::min(slice.end(), person.closes_at);
  if (from >= until) return 0;
  const auto hours = static_cast<uint64_t>((until - from) / kHour + 1);
  return person.monthly_rows * hours * slice.season;
}

PaymentTimes::PaymentTimes(const World& world, const Slice& slice) : world_(&world), slice_(slice) {
  const Parameters& parameters = world.parameters();
  std::vector<uint32_t> weights(static_cast<std::size_t>(slice.days));
  for (const ProfileHabits& profile : parameters.profiles) {
    for (const uint32_t payday : parameters.calendar.paydays) {
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = DayWeight(slice.first_day + static_cast<int64_t>(i), parameters.calendar,
                               profile, static_cast<int32_t>(payday));
      }
      days_.emplace_back(weights);
    }
  }
}

int64_t PaymentTimes::Of(const Person& person, uint32_t odd_hour_millionths, Draws& draws) const {
  const std::size_t choice =
      static_cast<std::size_t>(person.profile) * world_->parameters().calendar.paydays.size() +
      person.payday;
  const int64_t day = slice_.first_day + days_[choice].Of(draws.Bits());
  const int64_t hour = draws.Chance(odd_hour_millionths) ? static_cast<int64_t>(draws.Below(24))
                                                         : world_->UsualHour(person.profile, draws);
  const int64_t time = day * kDay + hour * kHour + static_cast<int64_t>(draws.Below(kHour));
  if (time >= person.opened_at && time < person.closes_at) return time;
  // In the month in which the account is opened or closed: uniform over the part with an account.
  return draws.Between(std::max(slice_.begin(), person.opened_at),
                       std::min(slice_.end(), person.closes_at) - 1);
}

}  // namespace reveza::fraudgen::coherent
