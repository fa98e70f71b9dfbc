#include "fraudgen/model/coherent/ride_behaviour.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/lists/weights.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr std::array<int64_t, kProfiles> kRidesOfProfile = {14, 3, 12, 10, 9, 6};
constexpr std::array<std::array<uint32_t, 4>, kProfiles> kHabits = {{{25, 25, 20, 30},
                                                                     {5, 5, 86, 4},
                                                                     {30, 30, 26, 14},
                                                                     {20, 20, 25, 35},
                                                                     {30, 30, 20, 20},
                                                                     {20, 20, 50, 10}}};
constexpr uint32_t kJourneyTrips = 4;
constexpr int64_t kMinFare = 800;
constexpr int64_t kWeatherHours = 3;

constexpr auto kErrands = lists::CategoriesWithCodes("5411", "5311", "5912", "8011");

// Draws a speed in hundredths of a kilometre per hour.
int64_t SpeedAt(int64_t hour, Draws& draws) {
  if ((hour >= 7 && hour <= 9) || (hour >= 17 && hour <= 19)) return draws.Between(1'500, 2'500);
  if (hour >= 22 || hour <= 5) return draws.Between(3'500, 4'500);
  return draws.Between(2'500, 3'500);
}

// Ends of trips that are at a street corner, in millionths.
constexpr uint64_t kAtCorner = 30'000;
// Rides by way of a stop or around a closed road, in millionths.
constexpr uint64_t kDetours = 25'000;
// Rides that wait at a door or in traffic, in millionths.
constexpr uint64_t kHeldUp = 100'000;
// Discounts that are those of a first ride, in millionths.
constexpr uint64_t kFirstRides = 170'000;
// Errands around the corner, in millionths.
constexpr uint64_t kNearby = 60'000;
// Errands whose next trip is the way back, in millionths.
constexpr uint64_t kThereAndBack = 400'000;
// Three-hour periods of a city with a match or a concert, in millionths.
constexpr uint64_t kEvents = 25'000;

bool IsErrand(const Trip& trip) {
  return trip.from.kind == RidePlaceKind::kShop || trip.to.kind == RidePlaceKind::kShop;
}

bool IsAway(const Month& month, int64_t time) {
  return month.journey_begin != kNever && time >= month.journey_begin + Month::kFlight &&
         time < month.journey_end - Month::kFlight;
}

}  // namespace

Place Around(Place place, int64_t reach, Draws& draws) {
  place.latitude += static_cast<int32_t>(draws.Between(-reach, reach));
  place.longitude += static_cast<int32_t>(draws.Between(-reach, reach));
  return place;
}

int64_t RouteOf(const Ride& ride, Draws& draws) {
  const int64_t crow = DistanceBetween(ride.from.place, ride.to.place);
  return std::max<int64_t>(100, crow * draws.Between(1'300, 1'500) / 1'000);
}

uint32_t MonthlyRides(const Person& person) {
  const uint64_t bits = Mix(person.key ^ 0x7269646572u);
  const int64_t percent = 30 + static_cast<int64_t>(UpperProduct(bits, 141));
  return static_cast<uint32_t>(kRidesOfProfile[static_cast<std::size_t>(person.profile)] * 16 *
                               percent / 100);
}

void Charge(Ride& ride) {
  ride.base = ride.fare = ride.pay = ride.fee = 0;
  if (!IsCompleted(ride)) {
    ride.discount = ride.tip = 0;
    ride.paid = false;
    return;
  }
  const lists::RideCategory& category = lists::kRideCategories[ride.category];
  ride.base = category.base + (ride.distance * category.per_kilometre + 50) / 100 +
              ride.minutes * category.per_minute;
  const int64_t whole = std::max(kMinFare, (ride.base * ride.surge + 50) / 100);
  ride.fee = (whole * lists::kRideApps[category.app].fee_percent + 50) / 100;
  ride.pay = whole - ride.fee;
  // Converts the discount from percent to cents.
  ride.discount = whole * ride.discount / 100;
  ride.fare = whole - ride.discount;
  ride.tip = ride.fare * ride.tip / 100;
}

RideBehaviour::RideBehaviour(const World& world)
    : world_(&world),
      dry_(lists::kDryWeatherWeights),
      wet_(lists::kWetWeatherWeights),
      payments_(lists::kRidePaymentWeights) {
  for (const auto& weights : kHabits) habits_.emplace_back(weights);
}

// Returns one of the person's favourite places in this city.
RidePlace RideBehaviour::Shop(const Person& person, uint32_t city, RidePlaceKind kind,
                              uint64_t bits) const {
  uint32_t category = kErrands[bits % kErrands.size()];
  if (kind == RidePlaceKind::kNightlife) category = lists::CategoryWithCode("5812");
  if (kind == RidePlaceKind::kHotel) category = lists::CategoryWithCode("7011");
  const uint64_t favourite = kind == RidePlaceKind::kHotel ? 0 : (bits >> 8) % 4;
  const uint64_t even = Mix(person.key + category * 8 + favourite + 0x72) >> 32;
  const auto position = static_cast<uint32_t>(UpperProduct(even * even, kMerchantsPerCity));
  return {.place = world_->PlaceOfMerchant(MerchantOf(city, category, position)),
          .city = static_cast<uint16_t>(city),
          .kind = kind};
}

// Returns the city's airport, outside the city.
RidePlace RideBehaviour::Airport(uint32_t city) const {
  Place place = world_->PlaceOfCity(city);
  const uint64_t bits = Mix(city ^ 0x6169727ull);
  place.latitude += (bits & 1) != 0 ? 130'000 : -130'000;
  place.longitude += static_cast<int32_t>(UpperProduct(Mix(bits), 180'000)) - 90'000;
  return {.place = place, .city = static_cast<uint16_t>(city), .kind = RidePlaceKind::kAirport};
}

void RideBehaviour::Hail(Draws& draws, RidePlace& place) {
  constexpr int64_t kReach = 4'000;
  if (!draws.Chance(kAtCorner)) return;
  place.kind = RidePlaceKind::kStreet;
  place.place = Around(place.place, kReach, draws);
}

// To the airport, from the airport of the other city to the hotel, and back.
bool RideBehaviour::JourneyTrip(const Person& person, const Month& month, uint32_t index,
                                Draws& draws, Trip& trip) const {
  if (month.journey_begin == kNever || month.journey_city == person.city) return false;
  const bool at_home = index == 0 || index == 3;
  const RidePlace stay =
      at_home ? RidePlace{.place = world_->HomeAt(person, month.journey_begin), .city = person.city}
              : Shop(person, month.journey_city, RidePlaceKind::kHotel, month.journey_city);
  const RidePlace airport = Airport(stay.city);
  const int64_t flight = at_home ? 0 : Month::kFlight;
  const int64_t time = index < 2 ? month.journey_begin + flight : month.journey_end - flight;
  if (index % 2 == 0) {
    trip = {.time = time - draws.Between(90 * kMinute, 3 * kHour), .from = stay, .to = airport};
  } else {
    trip = {.time = time + draws.Between(20 * kMinute, kHour), .from = airport, .to = stay};
  }
  return true;
}

int64_t RideBehaviour::DayOf(Habit habit, const Slice& slice, Draws& draws) const {
  constexpr int kTries = 12;
  int64_t day = slice.first_day;
  for (int i = 0; i < kTries; ++i) {
    day = slice.first_day + static_cast<int64_t>(draws.Below(static_cast<uint64_t>(slice.days)));
    const Weekday weekday = WeekdayOf(day);
    const bool weekend = weekday >= Weekday::kSaturday;
    const bool night = weekday == Weekday::kFriday || weekday == Weekday::kSaturday;
    if (habit == Habit::kErrand || (habit == Habit::kNight ? night : !weekend)) break;
  }
  return day;
}

Trip RideBehaviour::Errand(const Person& person, const Month& month, int64_t time,
                           Draws& draws) const {
  const bool away = IsAway(month, time);
  const uint32_t city = away ? month.journey_city : person.city;
  RidePlace base = {.place = world_->HomeAt(person, time), .city = person.city};
  if (away) base = Shop(person, city, RidePlaceKind::kHotel, city);
  RidePlace shop = Shop(person, city, RidePlaceKind::kShop, draws.Bits());
  if (draws.Chance(kNearby)) shop.place = Around(base.place, kAroundTheCorner, draws);
  Hail(draws, base);
  Hail(draws, shop);
  if (draws.Chance(500'000)) return {.time = time, .from = base, .to = shop};
  return {.time = time, .from = shop, .to = base};
}

// Every other trip may be the way back of the one before.
Trip RideBehaviour::TripOf(const Person& person, const Month& month, const Slice& slice,
                           uint32_t index) const {
  if (index % 2 == 0 || index < kJourneyTrips) return FirstTripOf(person, month, slice, index);
  Draws draws(Mix(Mix(month.key + index)) ^ static_cast<uint64_t>(Purpose::kRide));
  const Trip there = FirstTripOf(person, month, slice, index - 1);
  const Trip back = {.time = there.time + draws.Between(12 * kMinute, 100 * kMinute),
                     .from = there.to,
                     .to = there.from};
  const bool returns = IsErrand(there) && draws.Chance(kThereAndBack);
  return returns && back.time < slice.end() ? back : FirstTripOf(person, month, slice, index);
}

Trip RideBehaviour::FirstTripOf(const Person& person, const Month& month, const Slice& slice,
                                uint32_t index) const {
  Draws draws(Mix(month.key + index) ^ static_cast<uint64_t>(Purpose::kRide));
  const int64_t earliest = std::max(slice.begin(), person.opened_at);
  Trip trip;
  if (index < kJourneyTrips && JourneyTrip(person, month, index, draws, trip) &&
      trip.time >= earliest && trip.time < slice.end()) {
    return trip;
  }
  const auto habit =
      static_cast<Habit>(habits_[static_cast<std::size_t>(person.profile)].Of(draws.Bits()));
  int64_t time = DayOf(habit, slice, draws) * kDay;
  bool back = false;
  switch (habit) {
    case Habit::kToWork:
      time += draws.Between(6 * kHour + 30 * kMinute, 9 * kHour + 30 * kMinute);
      break;
    case Habit::kFromWork:
      time += draws.Between(17 * kHour, 20 * kHour);
      break;
    case Habit::kErrand:
      // Some shops never close.
      time +=
          draws.Chance(60'000) ? draws.Between(0, kDay - 1) : draws.Between(9 * kHour, 21 * kHour);
      break;
    case Habit::kNight:
      back = draws.Chance(500'000);
      time += back ? draws.Between(24 * kHour, 28 * kHour) : draws.Between(19 * kHour, 23 * kHour);
      break;
  }
  if (time < earliest || time >= slice.end()) time = draws.Between(earliest, slice.end() - 1);
  if (habit == Habit::kErrand || IsAway(month, time)) return Errand(person, month, time, draws);
  return Usual(person, habit, back, time, draws);
}

Trip RideBehaviour::TripAt(const Person& person, const Month& month, int64_t time,
                           Draws& draws) const {
  const int64_t hour = time % kDay / kHour;
  const bool weekend = WeekdayOf(time / kDay) >= Weekday::kSaturday;
  const Weekday evening = WeekdayOf((time - 5 * kHour) / kDay);
  const bool out =
      (evening == Weekday::kFriday || evening == Weekday::kSaturday) && (hour >= 20 || hour < 4);
  if (IsAway(month, time) || draws.Chance(150'000)) return Errand(person, month, time, draws);
  if (out) return Usual(person, Habit::kNight, hour < 4, time, draws);
  if (!weekend && hour >= 6 && hour < 10) return Usual(person, Habit::kToWork, false, time, draws);
  if (!weekend && hour >= 17 && hour < 20) {
    return Usual(person, Habit::kFromWork, true, time, draws);
  }
  return Errand(person, month, time, draws);
}

Trip RideBehaviour::Usual(const Person& person, Habit habit, bool back, int64_t time,
                          Draws& draws) const {
  RidePlace home = {.place = world_->HomeAt(person, time), .city = person.city};
  RidePlace other = {.place = person.work, .city = person.city, .kind = RidePlaceKind::kWork};
  if (habit == Habit::kNight) {
    other = Shop(person, person.city, RidePlaceKind::kNightlife, draws.Bits());
  }
  Hail(draws, home);
  Hail(draws, other);
  const bool home_first = habit == Habit::kToWork || (habit == Habit::kNight && !back);
  return home_first ? Trip{.time = time, .from = home, .to = other}
                    : Trip{.time = time, .from = other, .to = home};
}

void RideBehaviour::SetConditions(Ride& ride) const {
  const auto region =
      static_cast<std::size_t>(lists::kStates[lists::kStateOfCity[ride.from.city]].region);
  const int64_t hour = ride.time % kDay / kHour;
  const int64_t day = ride.time / kDay;
  const int32_t month = DateOf(day).month;
  Draws draws(world_->keys().Of(Purpose::kWeather,
                                static_cast<uint64_t>(ride.time / (kWeatherHours * kHour)),
                                ride.from.city));
  uint64_t chance = 10 * static_cast<uint64_t>(lists::kRainPercent[region][month - 1]);
  const int64_t part_of_day = hour / kWeatherHours * kWeatherHours;
  if (part_of_day >= 12 && part_of_day < 18) chance = chance * 13 / 10;
  if (part_of_day < 6) chance = chance * 7 / 10;
  const bool rain = draws.Below(1'000) < chance;
  ride.weather = static_cast<uint8_t>((rain ? wet_ : dry_).Of(draws.Bits()));

  // A day has one base temperature.
  Draws of_day(world_->keys().Of(Purpose::kWeather,
                                 (uint64_t{1} << 40) + static_cast<uint64_t>(day), ride.from.city));
  const Range<int32_t>& range =
      lists::kTemperatures[region][static_cast<std::size_t>(month % 12 / 3)];
  const int64_t degrees = of_day.Between(range.min * 10, range.max * 10);
  ride.temperature = std::clamp<int64_t>((degrees * lists::TemperaturePercent(hour) + 50) / 100,
                                         (range.min - 5) * 10, (range.max + 5) * 10);
  if (ride.weather >= static_cast<uint8_t>(lists::Weather::kRain)) {
    ride.temperature -= draws.Between(20, 50);
  }

  int64_t thousandths = lists::SurgeThousandths(static_cast<std::size_t>(hour), ride.weather);
  const Weekday weekday = WeekdayOf((ride.time - 5 * kHour) / kDay);
  const bool out = hour >= 21 || hour < 5;
  if (out && (weekday == Weekday::kFriday || weekday == Weekday::kSaturday)) thousandths += 250;
  if (draws.Chance(kEvents)) thousandths += draws.Between(300, 1'400);
  ride.surge = std::clamp<int64_t>((thousandths + 5) / 10, 100, 300);
}

void RideBehaviour::Drive(const Person& person, const Driver& driver, Draws& draws,
                          Ride& ride) const {
  ride.route = RouteOf(ride, draws);
  const bool detour = draws.Chance(kDetours);
  const int64_t driven = detour ? draws.Between(1'080, 1'900) : draws.Between(960, 1'040);
  ride.distance = std::max<int64_t>(100, ride.route * driven / 1'000);
  const int64_t hour = ride.time % kDay / kHour;
  ride.minutes =
      std::max<int64_t>(4, (detour ? ride.distance : ride.route) * 60 / SpeedAt(hour, draws));
  if (draws.Chance(kHeldUp)) ride.minutes += draws.Between(1, 8);
  ride.accepted_at = ride.time + draws.Between(10, 60) * kMicrosecondsPerSecond;
  ride.wait = draws.Between(2, 15);
  ride.category = CategoryFor(driver, draws.Bits());
  // Mostly the passenger's usual method.
  ride.payment = static_cast<uint8_t>(
      payments_.Of(draws.Chance(850'000) ? Mix(person.key ^ 0x70617973u) : draws.Bits()));
  if (draws.Chance(60'000)) {
    ride.discount = draws.Chance(kFirstRides) ? draws.Between(40, 90) : draws.Between(10, 30);
  }
  if (draws.Chance(200'000)) ride.tip = draws.Between(10, 25);
  if (draws.Chance(40'000)) ride.split = static_cast<uint8_t>(draws.Between(1, 3));
  ride.paid = !draws.Chance(ride.split != 0 ? 60'000 : 4'000);
}

void RideBehaviour::Decide(const Driver& driver, Draws& draws, Ride& ride) const {
  const uint64_t percent = draws.Below(1'000);
  const auto reason = static_cast<uint8_t>(draws.Below(lists::kCancellationReasonsEach));
  if (percent < 60) {
    ride.status = RideStatus::kCancelledByPassenger;
    ride.reason = reason;
  } else if (percent < 100) {
    ride.status = RideStatus::kCancelledByDriver;
    ride.reason = static_cast<uint8_t>(reason + lists::kCancellationReasonsEach);
  }
  // Better drivers get better ratings.
  const auto rate = [&](uint64_t best) {
    const uint64_t mark = draws.Below(1'000);
    if (mark < best) return uint8_t{5};
    const uint64_t rest = (mark - best) * 100 / (1'000 - best);
    return static_cast<uint8_t>(rest < 68 ? 4 : rest < 85 ? 3 : rest < 94 ? 2 : 1);
  };
  ride.driver_rating =
      rate(static_cast<uint64_t>(std::clamp<int64_t>((driver.rating - 400) * 9, 150, 880)));
  ride.passenger_rating = rate(780);
}

}  // namespace reveza::fraudgen::coherent
