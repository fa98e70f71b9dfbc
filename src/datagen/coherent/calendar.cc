#include "datagen/coherent/calendar.h"

#include <algorithm>
#include <bit>

#include "datagen/lists/profiles.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

constexpr std::array<uint32_t, 12> kSeasons = {92, 88, 98, 97, 103, 99, 100, 98, 97, 101, 108, 127};

constexpr uint32_t kPaydayPercent = 150;
constexpr int32_t kPaydayDays = 4;
constexpr uint32_t kChristmasPercent = 140;

uint32_t DayWeight(int64_t day, const lists::Profile& profile, int32_t payday) {
  uint32_t weight = 100;
  const Weekday weekday = WeekdayOf(day);
  if (weekday == Weekday::kSaturday || weekday == Weekday::kSunday) {
    weight = weight * static_cast<uint32_t>(profile.weekend_percent) / 100;
  }
  const CivilDate date = DateOf(day);
  const int32_t paid = std::min(payday, DaysInMonth(date.year, date.month));
  if (date.day >= paid && date.day < paid + kPaydayDays) weight = weight * kPaydayPercent / 100;
  if (date.month == 12 && date.day >= 12 && date.day <= 24) {
    weight = weight * kChristmasPercent / 100;
  }
  return std::max(1u, weight);
}

// 70 % in the usual hours, the rest by the hours of everybody.
std::array<WeightedChoice, kProfiles> MakeHours() {
  const auto choice = [](std::size_t index) {
    const uint32_t usual = lists::Profiles()[index].preferred_hours;
    uint32_t others = 0;
    for (int hour = 0; hour < 24; ++hour) {
      if ((usual >> hour & 1) == 0) others += lists::kTransactionHourWeights[hour];
    }
    std::array<uint32_t, 24> weights{};
    for (int hour = 0; hour < 24; ++hour) {
      weights[hour] = (usual >> hour & 1) != 0
                          ? 700'000u / static_cast<uint32_t>(std::popcount(usual))
                          : 300'000u * lists::kTransactionHourWeights[hour] / others;
    }
    return lists::ChoiceOf(weights);
  };
  return {choice(0), choice(1), choice(2), choice(3), choice(4), choice(5)};
}

}  // namespace

std::vector<Slice> SlicesOf(const World& world) {
  std::vector<Slice> slices;
  int64_t day = world.parameters().first_day;
  while (day <= world.parameters().last_day) {
    const CivilDate date = DateOf(day);
    const int64_t next = DaysOf(AddMonths({date.year, date.month, 1}, 1));
    const int64_t end = std::min(next, world.parameters().last_day + 1);
    slices.push_back({.index = static_cast<uint32_t>(slices.size()),
                      .first_day = day,
                      .days = end - day,
                      .season = kSeasons[static_cast<std::size_t>(date.month - 1)]});
    day = end;
  }
  return slices;
}

uint64_t Activity(const Person& person, const Slice& slice) {
  const int64_t from = std::max(slice.begin(), person.opened_at);
  if (from >= slice.end()) return 0;
  const auto hours = static_cast<uint64_t>((slice.end() - from) / kHour + 1);
  return person.monthly_rows * hours * slice.season;
}

PaymentTimes::PaymentTimes(const Slice& slice) : slice_(slice) {
  std::vector<uint32_t> weights(static_cast<std::size_t>(slice.days));
  for (const lists::Profile& profile : lists::Profiles()) {
    for (const int32_t payday : kPaydays) {
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = DayWeight(slice.first_day + static_cast<int64_t>(i), profile, payday);
      }
      days_.push_back(lists::ChoiceOf(weights));
    }
  }
}

int64_t PaymentTimes::UsualHour(Profile profile, Draws& draws) {
  static const std::array<WeightedChoice, kProfiles> kHours = MakeHours();
  return kHours[static_cast<std::size_t>(profile)].Of(draws.Bits());
}

int64_t PaymentTimes::Of(const Person& person, uint32_t odd_hour_millionths, Draws& draws) const {
  const std::size_t choice =
      static_cast<std::size_t>(person.profile) * kPaydays.size() + person.payday;
  const int64_t day = slice_.first_day + days_[choice].Of(draws.Bits());
  const int64_t hour = draws.Chance(odd_hour_millionths) ? static_cast<int64_t>(draws.Below(24))
                                                         : UsualHour(person.profile, draws);
  const int64_t time = day * kDay + hour * kHour + static_cast<int64_t>(draws.Below(kHour));
  if (time >= person.opened_at) return time;
  // The month in which the account was opened: any time of the rest of it.
  return draws.Between(person.opened_at, slice_.end() - 1);
}

}  // namespace reveza::datagen::coherent
