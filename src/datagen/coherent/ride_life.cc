#include "datagen/coherent/ride_life.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "datagen/lists/commerce.h"
#include "datagen/lists/places.h"
#include "datagen/lists/rides.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

constexpr std::array<int64_t, kProfiles> kRidesOfProfile = {14, 3, 12, 10, 9, 6};
constexpr std::array<std::array<uint32_t, 4>, kProfiles> kHabits = {{{25, 25, 20, 30},
                                                                     {5, 5, 86, 4},
                                                                     {30, 30, 26, 14},
                                                                     {20, 20, 25, 35},
                                                                     {30, 30, 20, 20},
                                                                     {20, 20, 50, 10}}};
constexpr uint32_t kJourneyTrips = 4;
constexpr int64_t kLeastFare = 800;
constexpr int64_t kWeatherHours = 3;

consteval uint32_t Category(std::string_view code) {
  for (std::size_t i = 0; i < lists::kMerchantCategories.size(); ++i) {
    if (lists::kMerchantCategories[i].code == code) return static_cast<uint32_t>(i);
  }
  throw "no such merchant category";
}
constexpr std::array kErrands = {Category("5411"), Category("5311"), Category("5912"),
                                 Category("8011")};

// Hundredths of a kilometre an hour.
int64_t SpeedAt(int64_t hour, Draws& draws) {
  if ((hour >= 7 && hour <= 9) || (hour >= 17 && hour <= 19)) return draws.Between(1'500, 2'500);
  if (hour >= 22 || hour <= 5) return draws.Between(3'500, 4'500);
  return draws.Between(2'500, 3'500);
}

int64_t TemperaturePercent(int64_t hour) {
  if (hour >= 6 && hour <= 9) return 90;
  if (hour >= 12 && hour <= 16) return 105;
  return hour >= 18 && hour <= 22 ? 95 : 85;
}

bool IsAway(const Month& month, int64_t time) {
  return month.journey_begin != kNever && time >= month.journey_begin + Month::kFlight &&
         time < month.journey_end - Month::kFlight;
}

}  // namespace

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
  const int64_t whole = std::max(kLeastFare, (ride.base * ride.surge + 50) / 100);
  ride.fee = (whole * lists::kRideApps[category.app].fee_percent + 50) / 100;
  ride.pay = whole - ride.fee;
  // Until here a discount is in percent.
  ride.discount = whole * ride.discount / 100;
  ride.fare = whole - ride.discount;
  ride.tip = ride.fare * ride.tip / 100;
}

RideLife::RideLife(const World& world)
    : world_(&world),
      dry_(lists::ChoiceOf(lists::kDryWeatherWeights)),
      wet_(lists::ChoiceOf(lists::kWetWeatherWeights)),
      payments_(lists::ChoiceOf(lists::kRidePaymentWeights)) {
  for (const auto& weights : kHabits) habits_.push_back(lists::ChoiceOf(weights));
}

// One of a few favourites of the person in this city.
RidePlace RideLife::Shop(const Person& person, uint32_t city, RidePlaceKind kind,
                         uint64_t bits) const {
  uint32_t category = kErrands[bits % kErrands.size()];
  if (kind == RidePlaceKind::kNightlife) category = Category("5812");
  if (kind == RidePlaceKind::kHotel) category = Category("7011");
  const uint64_t favourite = kind == RidePlaceKind::kHotel ? 0 : (bits >> 8) % 4;
  const uint64_t even = Mix(person.key + category * 8 + favourite + 0x72) >> 32;
  const auto position = static_cast<uint32_t>(UpperProduct(even * even, kMerchantsOfCity));
  return {.place = world_->PlaceOfMerchant(MerchantOf(city, category, position)),
          .city = static_cast<uint16_t>(city),
          .kind = kind};
}

// Outside of the city, at the same place for all.
RidePlace RideLife::Airport(uint32_t city) const {
  Place place = world_->PlaceOfCity(city);
  const uint64_t bits = Mix(city ^ 0x6169727ull);
  place.latitude += (bits & 1) != 0 ? 130'000 : -130'000;
  place.longitude += static_cast<int32_t>(UpperProduct(Mix(bits), 180'000)) - 90'000;
  return {.place = place, .city = static_cast<uint16_t>(city), .kind = RidePlaceKind::kAirport};
}

bool RideLife::JourneyTrip(const Person& person, const Month& month, uint32_t index, Draws& draws,
                           Trip& trip) const {
  if (month.journey_begin == kNever || month.journey_city == person.city) return false;
  const RidePlace home = {.place = world_->HomeAt(person, month.journey_begin),
                          .city = person.city};
  const RidePlace hotel =
      Shop(person, month.journey_city, RidePlaceKind::kHotel, month.journey_city);
  switch (index) {
    case 0:
      trip = {.time = month.journey_begin - draws.Between(90 * kMinute, 3 * kHour),
              .from = home,
              .to = Airport(person.city)};
      return true;
    case 1:
      trip = {.time = month.journey_begin + Month::kFlight + draws.Between(20 * kMinute, kHour),
              .from = Airport(month.journey_city),
              .to = hotel};
      return true;
    case 2:
      trip = {.time = month.journey_end - Month::kFlight - draws.Between(90 * kMinute, 3 * kHour),
              .from = hotel,
              .to = Airport(month.journey_city)};
      return true;
    case 3:
      trip = {.time = month.journey_end + draws.Between(20 * kMinute, kHour),
              .from = Airport(person.city),
              .to = home};
      return true;
    default:
      return false;
  }
}

int64_t RideLife::DayOf(Habit habit, const Slice& slice, Draws& draws) const {
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

Trip RideLife::Errand(const Person& person, const Month& month, int64_t time, Draws& draws) const {
  const bool away = IsAway(month, time);
  const uint32_t city = away ? month.journey_city : person.city;
  RidePlace base = {.place = world_->HomeAt(person, time), .city = person.city};
  if (away) base = Shop(person, city, RidePlaceKind::kHotel, city);
  const RidePlace shop = Shop(person, city, RidePlaceKind::kShop, draws.Bits());
  if (draws.Chance(500'000)) return {.time = time, .from = base, .to = shop};
  return {.time = time, .from = shop, .to = base};
}

Trip RideLife::TripOf(const Person& person, const Month& month, const Slice& slice,
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
      time += draws.Between(9 * kHour, 21 * kHour);
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

Trip RideLife::TripAt(const Person& person, const Month& month, int64_t time, Draws& draws) const {
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

Trip RideLife::Usual(const Person& person, Habit habit, bool back, int64_t time,
                     Draws& draws) const {
  const RidePlace home = {.place = world_->HomeAt(person, time), .city = person.city};
  RidePlace other = {.place = person.work, .city = person.city, .kind = RidePlaceKind::kWork};
  if (habit == Habit::kNight) {
    other = Shop(person, person.city, RidePlaceKind::kNightlife, draws.Bits());
  }
  const bool home_first = habit == Habit::kToWork || (habit == Habit::kNight && !back);
  return home_first ? Trip{.time = time, .from = home, .to = other}
                    : Trip{.time = time, .from = other, .to = home};
}

void RideLife::Observe(Ride& ride) const {
  const std::string_view code = lists::kCities[ride.from.city].state;
  const auto state = std::ranges::find(lists::kStates, code, &lists::State::code);
  const auto region = static_cast<std::size_t>(state->region);
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

  // A day is warm or cold, in all of its hours.
  Draws of_day(world_->keys().Of(Purpose::kWeather,
                                 (uint64_t{1} << 40) + static_cast<uint64_t>(day), ride.from.city));
  const lists::TemperatureRange& range =
      lists::kTemperatures[region][static_cast<std::size_t>(month % 12 / 3)];
  const int64_t degrees = of_day.Between(range.least * 10, range.most * 10);
  ride.temperature = std::clamp<int64_t>((degrees * TemperaturePercent(hour) + 50) / 100,
                                         (range.least - 5) * 10, (range.most + 5) * 10);
  if (ride.weather >= static_cast<uint8_t>(lists::Weather::kRain)) {
    ride.temperature -= draws.Between(20, 50);
  }

  const int64_t of_hour = lists::kSurgeOfHour[static_cast<std::size_t>(hour)];
  const int64_t of_weather = lists::kSurgeOfWeather[ride.weather];
  int64_t thousandths = 60 * of_hour + 40 * of_weather + 2 * of_hour * of_weather - 200;
  const Weekday weekday = WeekdayOf((ride.time - 5 * kHour) / kDay);
  const bool out = hour >= 21 || hour < 5;
  if (out && (weekday == Weekday::kFriday || weekday == Weekday::kSaturday)) thousandths += 250;
  ride.surge = std::clamp<int64_t>((thousandths + 5) / 10, 100, 300);
}

void RideLife::Drive(const Person& person, const Driver& driver, Draws& draws, Ride& ride) const {
  const int64_t crow = DistanceBetween(ride.from.place, ride.to.place);
  ride.route = std::max<int64_t>(100, crow * draws.Between(1'300, 1'500) / 1'000);
  ride.distance = std::max<int64_t>(100, ride.route * draws.Between(960, 1'040) / 1'000);
  const int64_t hour = ride.time % kDay / kHour;
  ride.minutes = std::max<int64_t>(4, ride.route * 60 / SpeedAt(hour, draws));
  ride.accepted_at = ride.time + draws.Between(10, 60) * kMicrosecondsPerSecond;
  ride.wait = draws.Between(2, 15);
  ride.category = CategoryFor(driver, draws.Bits());
  // Mostly what they have always used.
  ride.payment = static_cast<uint8_t>(
      payments_.Of(draws.Chance(850'000) ? Mix(person.key ^ 0x70617973u) : draws.Bits()));
  if (draws.Chance(60'000)) ride.discount = draws.Between(10, 30);
  if (draws.Chance(200'000)) ride.tip = draws.Between(10, 25);
  if (draws.Chance(40'000)) ride.split = static_cast<uint8_t>(draws.Between(1, 3));
  ride.paid = !draws.Chance(ride.split != 0 ? 60'000 : 4'000);
}

void RideLife::Decide(const Driver& driver, Draws& draws, Ride& ride) const {
  const uint64_t percent = draws.Below(1'000);
  const auto reason = static_cast<uint8_t>(draws.Below(lists::kCancellationReasonsEach));
  if (percent < 60) {
    ride.status = RideStatus::kCancelledByPassenger;
    ride.reason = reason;
  } else if (percent < 100) {
    ride.status = RideStatus::kCancelledByDriver;
    ride.reason = static_cast<uint8_t>(reason + lists::kCancellationReasonsEach);
  }
  // Good drivers get more of the best marks; a deviation is about a mark.
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

}  // namespace reveza::datagen::coherent
