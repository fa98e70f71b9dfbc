#include "datagen/classic/rides.h"

#include <algorithm>

#include "datagen/civil_time.h"
#include "datagen/classic/draws.h"
#include "datagen/fixed_text.h"
#include "datagen/lists/places.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::classic {
namespace {

constexpr uint64_t kMicrosecondsPerHour = 3'600 * uint64_t{kMicrosecondsPerSecond};
constexpr int64_t kMicrosecondsPerMinute = 60 * kMicrosecondsPerSecond;
constexpr std::size_t kStatesWithPlaces = 5;  // SP, MG, RJ, BA and DF

// The places of a state are those of São Paulo where the original knew none.
lists::Slice PlacesOf(uint32_t state) {
  static constexpr std::array<std::string_view, kStatesWithPlaces> kKnown = {"SP", "MG", "RJ", "BA",
                                                                             "DF"};
  const bool known = std::ranges::find(kKnown, lists::kStates[state].code) != kKnown.end();
  return lists::kPointsOfInterestOfState[known ? state : 0];
}

// Degrees of an hour of the day, in percent of what the season has.
int64_t TemperaturePercent(uint32_t hour) {
  if (hour >= 6 && hour <= 9) return 90;
  if (hour >= 12 && hour <= 16) return 105;
  if (hour >= 18 && hour <= 22) return 95;
  return 85;
}

// South of the equator: from December on summer, autumn, winter, spring.
std::size_t SeasonOf(int32_t month) { return static_cast<std::size_t>(month % 12 / 3); }

bool IsWet(uint16_t weather) { return weather >= static_cast<uint16_t>(lists::Weather::kRain); }

}  // namespace

Rides::Rides(const World& world, const Fleet& fleet)
    : world_(world),
      fleet_(fleet),
      hours_(lists::ChoiceOf(lists::kRideHourWeights)),
      apps_(lists::ChoiceOf(lists::MemberOf<uint32_t>(lists::kRideApps, &lists::RideApp::weight))),
      dry_weathers_(lists::ChoiceOf(lists::kDryWeatherWeights)),
      wet_weathers_(lists::ChoiceOf(lists::kWetWeatherWeights)),
      statuses_(lists::ChoiceOf(lists::kRideStatusWeights)),
      payments_(lists::ChoiceOf(lists::kRidePaymentWeights)),
      driver_ratings_(lists::ChoiceOf(lists::kDriverRatingWeights)),
      passenger_ratings_(lists::ChoiceOf(lists::kPassengerRatingWeights)),
      fraud_types_(lists::ChoiceOf(lists::kRideFraudTypeWeights)) {
  for (uint32_t draw = 0; draw < kDraws; ++draw) {
    draws_.push_back(world.Random(TableKey::kRides, draw));
  }
  metres_.resize(lists::kPointsOfInterest.size());
  for (const lists::Slice& places : lists::kPointsOfInterestOfState) {
    for (std::size_t from = 0; from < places.count; ++from) {
      const lists::PointOfInterest& here = lists::kPointsOfInterest[places.first + from];
      for (std::size_t to = 0; to < places.count; ++to) {
        const lists::PointOfInterest& there = lists::kPointsOfInterest[places.first + to];
        metres_[places.first + from][to] = static_cast<int32_t>(
            MetresBetween(here.latitude, here.longitude, there.latitude, there.longitude));
      }
    }
  }
}

void Rides::Fill(const BatchRows& rows, Batch& batch) const {
  Scratch scratch;
  FillWho(rows, scratch, batch);
  FillTime(rows, scratch, batch);
  FillWeather(rows, scratch, batch);
  FillPlaces(rows, scratch, batch);
  FillOutcome(rows, batch);
  FillFare(rows, scratch, batch);
}

void Rides::FillWho(const BatchRows& rows, Scratch& scratch, Batch& batch) const {
  constexpr Identifier<5, 12> kRide = {"RIDE_"};
  constexpr Identifier<4, 10> kDriver = {"DRV_"};
  constexpr Identifier<5, 12> kPassenger = {"CUST_"};
  const std::size_t count = rows.size();
  char* ride = BeginFixedTexts(Texts(batch, RideColumn::kRideId), count, kRide.kWidth);
  char* driver = BeginFixedTexts(Texts(batch, RideColumn::kDriverId), count, kDriver.kWidth);
  char* passenger =
      BeginFixedTexts(Texts(batch, RideColumn::kPassengerId), count, kPassenger.kWidth);
  const auto apps = Codes(batch, RideColumn::kApp);
  const auto categories = Codes(batch, RideColumn::kCategory);
  const auto labels = Flags(batch, RideColumn::kIsFraud);
  const auto fraud_types = Codes(batch, RideColumn::kFraudType);
  const auto fraud_present = Present(batch, RideColumn::kFraudType);
  for (std::size_t i = 0; i < count; ++i) {
    kRide.Write(ride + i * kRide.kWidth, rows[i]);
    const uint64_t customer = Random(Draw::kPassenger).Below(world_.customers(), rows[i]);
    const uint32_t state = world_.TraitsOf(customer).state;
    kPassenger.Write(passenger + i * kPassenger.kWidth, customer + 1);
    kDriver.Write(driver + i * kDriver.kWidth,
                  fleet_.DriverIn(state, Random(Draw::kDriver).Bits(rows[i])) + 1);
    scratch.state[i] = static_cast<uint8_t>(state);

    const uint64_t bits = Random(Draw::kApp).Bits(rows[i]);
    apps[i] = static_cast<uint16_t>(apps_.Of(bits));
    const lists::Slice offered = lists::kCategoriesOfApp[apps[i]];
    const uint64_t category = offered.first + UpperProduct(LowerHalf(bits), offered.count);
    scratch.category[i] = static_cast<uint8_t>(category);
    categories[i] = lists::kNameOfRideCategory[category];

    const bool fraud = rows.IsFraud(i);
    labels[i] = fraud;
    fraud_present[i] = fraud;
    fraud_types[i] =
        fraud ? static_cast<uint16_t>(fraud_types_.Of(Random(Draw::kFraudType).Bits(rows[i])))
              : uint16_t{0};
  }
}

Rides::Moment Rides::MomentOf(uint64_t row) const {
  const uint64_t bits = Random(Draw::kDayAndHour).Bits(row);
  const auto day = static_cast<int64_t>(UpperProduct(bits, world_.days()));
  const uint32_t hour = hours_.Of(LowerHalf(bits));
  const uint64_t moment = Random(Draw::kMoment).Below(kMicrosecondsPerHour, row);
  return {.time = (world_.first_day() + day) * kMicrosecondsPerDay +
                  static_cast<int64_t>(hour * kMicrosecondsPerHour + moment),
          .hour = hour};
}

void Rides::FillTime(const BatchRows& rows, Scratch& scratch, Batch& batch) const {
  const auto times = Numbers(batch, RideColumn::kTimestamp);
  const auto requests = Numbers(batch, RideColumn::kRequestTime);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Moment moment = MomentOf(rows[i]);
    scratch.hour[i] = static_cast<uint8_t>(moment.hour);
    times[i] = requests[i] = moment.time;
  }
}

void Rides::DrawTimes(uint64_t first, std::span<int64_t> times) const {
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = MomentOf(first + i).time;
}

void Rides::FillWeather(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  const int64_t* const times = Numbers(batch, RideColumn::kTimestamp);
  const auto weathers = Codes(batch, RideColumn::kWeather);
  const auto temperatures = Numbers(batch, RideColumn::kTemperature);
  const auto surges = Numbers(batch, RideColumn::kSurge);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const auto region = static_cast<std::size_t>(lists::kStates[scratch.state[i]].region);
    const uint32_t hour = scratch.hour[i];
    // Timestamps are not before 1970-01-01 less a year, see ClassicModel.
    const int32_t month = DateOf(times[i] / kMicrosecondsPerDay).month;

    const uint64_t bits = Random(Draw::kRain).Bits(rows[i]);
    uint64_t chance = 10 * static_cast<uint64_t>(lists::kRainPercent[region][month - 1]);
    if (hour >= 14 && hour <= 18) chance = chance * 13 / 10;
    if (hour <= 6) chance = chance * 7 / 10;
    const bool rain = UpperProduct(bits, 1'000) < chance;
    weathers[i] = static_cast<uint16_t>((rain ? wet_weathers_ : dry_weathers_).Of(LowerHalf(bits)));

    // In tenths of a degree.
    const lists::TemperatureRange& range = lists::kTemperatures[region][SeasonOf(month)];
    int64_t degrees =
        Random(Draw::kTemperature).Between(range.least * 10, range.most * 10, rows[i]);
    degrees = std::clamp<int64_t>((degrees * TemperaturePercent(hour) + 50) / 100,
                                  (range.least - 5) * 10, (range.most + 5) * 10);
    if (IsWet(weathers[i])) degrees -= Random(Draw::kCooling).Between(20, 50, rows[i]);
    temperatures[i] = degrees;

    // 0.6 of the hour's, 0.4 of the weather's, and 0.2 of what both together are above 1.
    const int64_t of_hour = lists::kSurgeOfHour[hour];
    const int64_t of_weather = lists::kSurgeOfWeather[weathers[i]];
    const int64_t thousandths = 60 * of_hour + 40 * of_weather + 2 * of_hour * of_weather - 200;
    surges[i] = std::clamp<int64_t>((thousandths + 5) / 10, 100, 300);
  }
}

// In hundredths of a kilometre an hour.
int64_t Rides::SpeedOf(uint64_t row, uint32_t hour) const {
  const FieldRandom& random = Random(Draw::kSpeed);
  if ((hour >= 7 && hour <= 9) || (hour >= 17 && hour <= 19)) {
    return random.Between(1'500, 2'500, row);
  }
  if (hour >= 22 || hour <= 5) return random.Between(3'500, 4'500, row);
  return random.Between(2'500, 3'500, row);
}

void Rides::FillPlaces(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  struct Columns {
    int64_t* latitude;
    int64_t* longitude;
    uint16_t* name;
    uint16_t* kind;
    uint16_t* city;
    uint16_t* state;
  };
  const Columns pickup = {
      Numbers(batch, RideColumn::kPickupLatitude), Numbers(batch, RideColumn::kPickupLongitude),
      Codes(batch, RideColumn::kPickupName),       Codes(batch, RideColumn::kPickupPoiType),
      Codes(batch, RideColumn::kPickupCity),       Codes(batch, RideColumn::kPickupState)};
  const Columns dropoff = {
      Numbers(batch, RideColumn::kDropoffLatitude), Numbers(batch, RideColumn::kDropoffLongitude),
      Codes(batch, RideColumn::kDropoffName),       Codes(batch, RideColumn::kDropoffPoiType),
      Codes(batch, RideColumn::kDropoffCity),       Codes(batch, RideColumn::kDropoffState)};
  const auto distances = Numbers(batch, RideColumn::kDistance);
  const auto durations = Numbers(batch, RideColumn::kDuration);
  const auto put = [](const Columns& columns, std::size_t i, std::size_t place, uint8_t state) {
    const lists::PointOfInterest& point = lists::kPointsOfInterest[place];
    columns.latitude[i] = point.latitude;
    columns.longitude[i] = point.longitude;
    columns.name[i] = static_cast<uint16_t>(place);
    columns.kind[i] = static_cast<uint16_t>(point.kind);
    columns.city[i] = columns.state[i] = state;
  };
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const lists::Slice places = PlacesOf(scratch.state[i]);
    const uint64_t bits = Random(Draw::kPlaces).Bits(rows[i]);
    const uint64_t from = UpperProduct(bits, places.count);
    // Another place is one of another kind: a state has one place of each.
    const uint64_t other = UpperProduct(LowerHalf(bits), places.count - 1u);
    const uint64_t to = other + (other >= from ? 1 : 0);
    put(pickup, i, places.first + from, scratch.state[i]);
    put(dropoff, i, places.first + to, scratch.state[i]);

    // In hundredths of a kilometre.
    const int64_t detour = Random(Draw::kDetour).Between(1'300, 1'500, rows[i]);
    distances[i] =
        std::max<int64_t>(100, (metres_[places.first + from][to] * detour + 5'000) / 10'000);
    const int64_t minutes = distances[i] * 60 / SpeedOf(rows[i], scratch.hour[i]);
    durations[i] = std::max<int64_t>(5, minutes);
  }
}

void Rides::FillOutcome(const BatchRows& rows, Batch& batch) const {
  const int64_t* const requests = Numbers(batch, RideColumn::kRequestTime);
  const int64_t* const durations = Numbers(batch, RideColumn::kDuration);
  const auto statuses = Codes(batch, RideColumn::kStatus);
  const auto payments = Codes(batch, RideColumn::kPaymentMethod);
  const auto reasons = Codes(batch, RideColumn::kCancellationReason);
  const auto reason_present = Present(batch, RideColumn::kCancellationReason);
  const auto accepts = Numbers(batch, RideColumn::kAcceptTime);
  const auto pickups = Numbers(batch, RideColumn::kPickupTime);
  const auto dropoffs = Numbers(batch, RideColumn::kDropoffTime);
  const auto waits = Numbers(batch, RideColumn::kWaitTime);
  const auto driver_ratings = Numbers(batch, RideColumn::kDriverRating);
  const auto passenger_ratings = Numbers(batch, RideColumn::kPassengerRating);
  const std::array present = {
      Present(batch, RideColumn::kAcceptTime),   Present(batch, RideColumn::kPickupTime),
      Present(batch, RideColumn::kDropoffTime),  Present(batch, RideColumn::kWaitTime),
      Present(batch, RideColumn::kDriverRating), Present(batch, RideColumn::kPassengerRating)};
  constexpr uint16_t kCompleted = 0;
  constexpr uint16_t kByDriver = 2;
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    uint64_t bits = Random(Draw::kOutcome).Bits(rows[i]);
    const auto status = static_cast<uint16_t>(statuses_.Of(bits));
    statuses[i] = status;
    payments[i] = static_cast<uint16_t>(payments_.Of(LowerHalf(bits)));
    for (uint8_t* column : present) column[i] = status == kCompleted;

    bits = Random(Draw::kTimes).Bits(rows[i]);
    accepts[i] =
        requests[i] + static_cast<int64_t>(10 + UpperProduct(bits, 51)) * kMicrosecondsPerSecond;
    waits[i] = 2 + static_cast<int64_t>(UpperProduct(LowerHalf(bits), 14));
    pickups[i] = accepts[i] + waits[i] * kMicrosecondsPerMinute;
    dropoffs[i] = pickups[i] + durations[i] * kMicrosecondsPerMinute;
    bits = Random(Draw::kRatings).Bits(rows[i]);
    driver_ratings[i] = 5 - static_cast<int64_t>(driver_ratings_.Of(bits));
    passenger_ratings[i] = 5 - static_cast<int64_t>(passenger_ratings_.Of(LowerHalf(bits)));

    const bool cancelled = status != kCompleted && status <= kByDriver;
    reason_present[i] = cancelled;
    reasons[i] = 0;
    if (cancelled) {
      const uint64_t reason = Random(Draw::kReason).Below(lists::kCancellationReasonsEach, rows[i]);
      reasons[i] = static_cast<uint16_t>(
          reason + (status == kByDriver ? lists::kCancellationReasonsEach : 0));
    }
  }
}

// All in cents, halves rounded up. What is not completed costs nothing.
void Rides::FillFare(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  constexpr int64_t kLeastFare = 800;
  const int64_t* const distances = Numbers(batch, RideColumn::kDistance);
  const int64_t* const durations = Numbers(batch, RideColumn::kDuration);
  const int64_t* const surges = Numbers(batch, RideColumn::kSurge);
  const uint16_t* const statuses = Codes(batch, RideColumn::kStatus);
  const uint16_t* const apps = Codes(batch, RideColumn::kApp);
  const auto bases = Numbers(batch, RideColumn::kBaseFare);
  const auto fares = Numbers(batch, RideColumn::kFinalFare);
  const auto pays = Numbers(batch, RideColumn::kDriverPay);
  const auto fees = Numbers(batch, RideColumn::kPlatformFee);
  const auto tips = Numbers(batch, RideColumn::kTip);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    if (statuses[i] != 0) {
      bases[i] = fares[i] = pays[i] = fees[i] = tips[i] = 0;
      continue;
    }
    const lists::RideCategory& category = lists::kRideCategories[scratch.category[i]];
    bases[i] = category.base + (distances[i] * category.per_kilometre + 50) / 100 +
               durations[i] * category.per_minute;
    fares[i] = std::max(kLeastFare, (bases[i] * surges[i] + 50) / 100);
    fees[i] = (fares[i] * lists::kRideApps[apps[i]].fee_percent + 50) / 100;
    pays[i] = fares[i] - fees[i];
    const uint64_t bits = Random(Draw::kTip).Bits(rows[i]);
    const auto thousandths = static_cast<int64_t>(100 + UpperProduct(LowerHalf(bits), 151));
    tips[i] = Percent(bits) < 20 ? (fares[i] * thousandths + 500) / 1'000 : 0;
  }
}

}  // namespace reveza::datagen::classic
