// When and where honest payments are made.
#include <algorithm>

#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/honest.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr uint64_t kCommuters = 60'000;  // of the customers, in millionths
constexpr int32_t kCommute = 700'000;    // about 80 km
constexpr uint64_t kLonger = 200'000;    // pauses in a sitting that may be longer, in millionths

}  // namespace

uint32_t HonestBehaviour::StandingOrders(Profile profile, uint32_t rows) const {
  return rows * world_->parameters().HabitsOf(profile).standing_orders_percent / 100;
}

Month HonestBehaviour::PlanMonth(const Person& person, const Slice& slice, uint32_t rows) const {
  const Parameters& parameters = world_->parameters();
  Month month;
  month.key = world_->keys().Of(Purpose::kMonth, person.number, static_cast<uint16_t>(slice.index));
  month.rows = rows;
  month.income_thousandths = Scaled(1'000, slice.begin());
  month.standing_orders = StandingOrders(person.profile, rows);
  Draws draws(month.key);
  const uint64_t factor = parameters.LookalikeFactor();
  const auto day = [&] {
    return slice.first_day + static_cast<int64_t>(draws.Below(static_cast<uint64_t>(slice.days)));
  };
  if (draws.Chance(parameters.lookalikes.journey_a_month * factor / 1000)) {
    month.journey_begin = day() * kDay + 5 * kHour;
    month.journey_end = std::min(month.journey_begin + draws.Between(2, 9) * kDay, slice.end());
    month.journey_city = world_->AnyCity(draws.Bits());
  }
  // Phones are not bought less often because fraud is easy to find.
  const uint64_t phones = std::max<uint64_t>(factor, 1'000);
  if (draws.Chance(parameters.lookalikes.new_phone_a_month * phones / 1000)) {
    month.new_phone_at = day() * kDay + draws.Between(9 * kHour, 21 * kHour);
  }
  if (draws.Chance(parameters.lookalikes.spree_a_month * factor / 1000)) {
    month.spree_day = day();
  }
  // The first of a family of four.
  constexpr uint64_t kPassesOn = 120'000;  // a month, in millionths
  month.passes_on = person.number % World::kHousehold == 0 && rows > month.standing_orders &&
                    draws.Chance(kPassesOn);
  return month;
}

// Some payments are made one after another, a few minutes apart: returns the index of the first.
uint32_t HonestBehaviour::FirstOfSitting(const Month& month, uint32_t index) {
  constexpr uint32_t kRows = 8;
  constexpr uint64_t kSittings = 90'000;  // of all eight rows, in millionths
  const uint32_t first = index / kRows * kRows;
  if (first < month.standing_orders) return index;
  Draws draws(Mix(month.key + first) ^ static_cast<uint64_t>(Purpose::kTimes) << 32);
  if (!draws.Chance(kSittings)) return index;
  return index - first < draws.Between(2, 5) ? first : index;
}

int64_t HonestBehaviour::TimeOf(const CustomerState& customer, const Slice& slice,
                                const PaymentTimes& times, uint32_t index) const {
  const Person& person = customer.person;
  if (index < customer.month.standing_orders) {
    // Early in the month, on the same day each month.
    const uint64_t bits = Mix(person.key + index * 7 + 3);
    const auto day = static_cast<int64_t>(bits % 28);
    const int64_t time = (slice.first_day + std::min(day, slice.days - 1)) * kDay + 2 * kHour +
                         static_cast<int64_t>(UpperProduct(Mix(bits + slice.index), 4 * kHour));
    if (time >= person.opened_at && time < person.closes_at) return time;
  }
  const uint32_t first = FirstOfSitting(customer.month, index);
  const Parameters& parameters = world_->parameters();
  const uint64_t odd =
      uint64_t{parameters.lookalikes.odd_hour} * parameters.LookalikeFactor() / 1000;
  Draws draws(Mix(customer.month.key + first) ^ static_cast<uint64_t>(Purpose::kTimes));
  int64_t time = times.Of(person, static_cast<uint32_t>(odd), draws);
  const int64_t end = std::min(slice.end(), person.closes_at);
  for (uint32_t i = first; i < index; ++i) {
    const int64_t longest = draws.Chance(kLonger) ? 45 * kMinute : 6 * kMinute;
    const int64_t later = time + draws.Between(kMinute, longest);
    if (later < end) time = later;
  }
  return time;
}

bool HonestBehaviour::LocationAt(const CustomerState& customer, int64_t time, Place& place) const {
  const Month& month = customer.month;
  const Person& person = customer.person;
  const bool journey = month.OnJourney(time);
  if (journey) {
    if (time < month.journey_begin + Month::kFlight || time >= month.journey_end - Month::kFlight)
      return false;
    place = world_->PlaceOfCity(month.journey_city);
  } else {
    const int64_t hour = time % kDay / kHour;
    const bool weekday = WeekdayOf(time / kDay) < Weekday::kSaturday;
    const bool at_work = weekday && hour >= 9 && hour < 18;
    place = at_work ? person.work : person.home;
    // Some work in another town.
    const uint64_t commuter = Mix(person.key ^ 0x636f6d6d757465u);
    if (at_work && commuter % 1'000'000 < kCommuters) {
      place.latitude += (commuter >> 32 & 1) != 0 ? kCommute : -kCommute;
    }
  }
  // With the inaccuracy of a phone's position.
  const uint64_t bits = Mix(person.key ^ static_cast<uint64_t>(time));
  const int32_t reach = journey ? 40'000 : 1'500;
  place.latitude += static_cast<int32_t>(UpperProduct(bits, 2 * reach)) - reach;
  place.longitude += static_cast<int32_t>(UpperProduct(Mix(bits), 2 * reach)) - reach;
  return true;
}

int64_t HonestBehaviour::Scaled(int64_t scale, int64_t time) const {
  const int64_t growth = world_->parameters().drift.amounts_thousandths;
  return growth == 0 ? scale : scale * (1'000'000 + growth * world_->Progress(time)) / 1'000'000;
}

}  // namespace reveza::fraudgen::coherent
