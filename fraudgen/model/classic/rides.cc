#include "fraudgen/lists/rides.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/classic/tables.h"
#include "fraudgen/schema/fixed_text.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::classic {
namespace {

constexpr int kUnitBits = 30;

// Returns the cosine of an angle below 90 degrees by its Taylor series, in units of 2^-30.
int64_t Cosine(int64_t millionths_of_degree) {
  // A millionth of a degree is 2^30 * pi / 180 / 10^6 = 18.740330 of these units.
  const int64_t angle = millionths_of_degree * 18'740'330 / 1'000'000;
  const int64_t square = (angle * angle) >> kUnitBits;
  const int64_t fourth = (square * square) >> kUnitBits;
  const int64_t sixth = (fourth * square) >> kUnitBits;
  return (int64_t{1} << kUnitBits) - square / 2 + fourth / 24 - sixth / 720;
}

// Returns the square root, rounded down.
int64_t SquareRoot(int64_t value) {
  int64_t root = 0;
  for (int64_t bit = int64_t{1} << 30; bit > 0; bit /= 2) {
    if ((root + bit) * (root + bit) <= value) root += bit;
  }
  return root;
}

}  // namespace

int64_t MetresBetween(int64_t latitude, int64_t longitude, int64_t other_latitude,
                      int64_t other_longitude) {
  // The Earth radius of the original's formula gives 111,195 metres per degree.
  constexpr int64_t kMetresPerDegree = 111'195;
  const int64_t north = (other_latitude - latitude) * kMetresPerDegree / 1'000'000;
  const int64_t east = ((other_longitude - longitude) * kMetresPerDegree / 1'000'000 *
                        Cosine((latitude + other_latitude) / 2)) >>
                       kUnitBits;
  return SquareRoot(north * north + east * east);
}

namespace {

constexpr std::size_t kStatesWithPlaces = 5;  // SP, MG, RJ, BA and DF

// States without places in the original use those of São Paulo.
lists::Slice PlacesOf(uint32_t state) {
  static constexpr std::array<std::string_view, kStatesWithPlaces> kKnown = {"SP", "MG", "RJ", "BA",
                                                                             "DF"};
  const bool known = std::ranges::find(kKnown, lists::kStates[state].code) != kKnown.end();
  return lists::kPointsOfInterestOfState[known ? state : 0];
}

// Southern hemisphere: summer begins in December.
std::size_t SeasonOf(int32_t month) { return static_cast<std::size_t>(month % 12 / 3); }

bool IsWet(uint16_t weather) { return weather >= static_cast<uint16_t>(lists::Weather::kRain); }

class Rides final : public TableRows {
 public:
  explicit Rides(const World& world);
  uint64_t fraud_key() const override { return random_[Draw::kFrauds].Bits(0); }
  void Fill(const BatchRows& rows, Batch& batch) const override;
  void DrawTimes(uint64_t first, std::span<int64_t> times) const override;

 private:
  using enum RidesColumn;

  // Fields of random numbers; their order is part of the output. Related values share the bits of
  // one number.
  enum class Draw : uint32_t {
    kFrauds,  // of the table, not of a row
    kPassenger,
    kDayAndHour,
    kMoment,
    kApp,
    kDriver,
    kPlaces,
    kDetour,
    kSpeed,
    kTimes,
    kTip,
    kOutcome,
    kRatings,
    kReason,
    kRain,
    kTemperature,
    kCooling,
    kFraudType,
    kEnd
  };

  // Per-row values that several columns depend on.
  struct Scratch {
    std::array<uint8_t, Batch::kMaxRows> state;
    std::array<uint8_t, Batch::kMaxRows> hour;
    std::array<uint8_t, Batch::kMaxRows> category;  // index into lists::kRideCategories
  };

  void FillParties(const BatchRows& rows, Scratch& scratch, Batch& batch) const;
  void FillTime(const BatchRows& rows, Scratch& scratch, Batch& batch) const;
  void FillWeather(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  void FillPlaces(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  void FillOutcome(const BatchRows& rows, Batch& batch) const;
  void FillFare(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  World::Moment MomentOf(uint64_t row) const;
  int64_t SpeedOf(uint64_t row, uint32_t hour) const;

  const World& world_;
  Fields<Draw> random_;
  // Distances in metres between the places of each state, indexed as in lists.
  std::vector<std::array<int32_t, 8>> metres_;
  WeightedChoice hours_;
  WeightedChoice apps_;
  WeightedChoice dry_weathers_;
  WeightedChoice wet_weathers_;
  WeightedChoice statuses_;
  WeightedChoice payments_;
  WeightedChoice driver_ratings_;
  WeightedChoice passenger_ratings_;
  WeightedChoice fraud_types_;
};

Rides::Rides(const World& world)
    : world_(world),
      random_(world.seed(), TableKey::kRides),
      hours_(lists::kRideHourWeights),
      apps_(lists::ChoiceOfRows(lists::kRideApps)),
      dry_weathers_(lists::kDryWeatherWeights),
      wet_weathers_(lists::kWetWeatherWeights),
      statuses_(lists::kRideStatusWeights),
      payments_(lists::kRidePaymentWeights),
      driver_ratings_(lists::kDriverRatingWeights),
      passenger_ratings_(lists::kPassengerRatingWeights),
      fraud_types_(lists::kRideFraudTypeWeights) {
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
  FillParties(rows, scratch, batch);
  FillTime(rows, scratch, batch);
  FillWeather(rows, scratch, batch);
  FillPlaces(rows, scratch, batch);
  FillOutcome(rows, batch);
  FillFare(rows, scratch, batch);
}

void Rides::FillParties(const BatchRows& rows, Scratch& scratch, Batch& batch) const {
  constexpr Identifier<5, 12> kRide = {"RIDE_"};
  constexpr Identifier<4, 10> kDriver = {"DRV_"};
  constexpr Identifier<5, 12> kPassenger = {"CUST_"};
  const std::size_t count = rows.size();
  char* ride = BeginFixedTexts(Texts(batch, kRideId), count, kRide.kWidth);
  char* driver = BeginFixedTexts(Texts(batch, kDriverId), count, kDriver.kWidth);
  char* passenger = BeginFixedTexts(Texts(batch, kPassengerId), count, kPassenger.kWidth);
  const auto [apps, categories, fraud_types] = Codes(batch, kApp, kCategory, kFraudType);
  const auto labels = Flags(batch, kIsFraud);
  const auto fraud_present = Present(batch, kFraudType);
  for (std::size_t i = 0; i < count; ++i) {
    kRide.Write(ride + i * kRide.kWidth, rows[i]);
    const uint64_t customer = random_[Draw::kPassenger].Below(world_.customers(), rows[i]);
    const uint32_t state = world_.TraitsOf(customer).state;
    kPassenger.Write(passenger + i * kPassenger.kWidth, customer + 1);
    kDriver.Write(driver + i * kDriver.kWidth,
                  world_.fleet().DriverIn(state, random_[Draw::kDriver].Bits(rows[i])) + 1);
    scratch.state[i] = static_cast<uint8_t>(state);

    const uint64_t bits = random_[Draw::kApp].Bits(rows[i]);
    apps[i] = static_cast<uint16_t>(apps_.Of(bits));
    const lists::Slice offered = lists::kCategoriesOfApp[apps[i]];
    const uint64_t category = offered.first + UpperProduct(LowerHalf(bits), offered.count);
    scratch.category[i] = static_cast<uint8_t>(category);
    categories[i] = lists::kNameOfRideCategory[category];

    const bool fraud = rows.IsFraud(i);
    labels[i] = fraud;
    fraud_present[i] = fraud;
    fraud_types[i] =
        fraud ? static_cast<uint16_t>(fraud_types_.Of(random_[Draw::kFraudType].Bits(rows[i])))
              : uint16_t{0};
  }
}

World::Moment Rides::MomentOf(uint64_t row) const {
  return world_.MomentOf(hours_, random_[Draw::kDayAndHour].Bits(row),
                         random_[Draw::kMoment].Bits(row));
}

void Rides::FillTime(const BatchRows& rows, Scratch& scratch, Batch& batch) const {
  const auto [times, requests] = Numbers(batch, kTimestamp, kRequestDatetime);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const World::Moment moment = MomentOf(rows[i]);
    scratch.hour[i] = static_cast<uint8_t>(moment.hour);
    times[i] = requests[i] = moment.time;
  }
}

void Rides::DrawTimes(uint64_t first, std::span<int64_t> times) const {
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = MomentOf(first + i).time;
}

void Rides::FillWeather(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  const int64_t* const times = Numbers(batch, kTimestamp);
  const auto weathers = Codes(batch, kWeatherCondition);
  const auto [temperatures, surges] = Numbers(batch, kTemperature, kSurgeMultiplier);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const auto region = static_cast<std::size_t>(lists::kStates[scratch.state[i]].region);
    const uint32_t hour = scratch.hour[i];
    // ClassicModel rejects days before 1970, so the division does not round up.
    const int32_t month = DateOf(times[i] / kMicrosecondsPerDay).month;

    const uint64_t bits = random_[Draw::kRain].Bits(rows[i]);
    uint64_t chance = 10 * static_cast<uint64_t>(lists::kRainPercent[region][month - 1]);
    if (hour >= 14 && hour <= 18) chance = chance * 13 / 10;
    if (hour <= 6) chance = chance * 7 / 10;
    const bool rain = UpperProduct(bits, 1'000) < chance;
    weathers[i] = static_cast<uint16_t>((rain ? wet_weathers_ : dry_weathers_).Of(LowerHalf(bits)));

    // In tenths of a degree.
    const Range<int32_t>& range = lists::kTemperatures[region][SeasonOf(month)];
    int64_t degrees = random_[Draw::kTemperature].Between(range.min * 10, range.max * 10, rows[i]);
    degrees = std::clamp<int64_t>((degrees * lists::TemperaturePercent(hour) + 50) / 100,
                                  (range.min - 5) * 10, (range.max + 5) * 10);
    if (IsWet(weathers[i])) degrees -= random_[Draw::kCooling].Between(20, 50, rows[i]);
    temperatures[i] = degrees;

    const int64_t thousandths = lists::SurgeThousandths(hour, weathers[i]);
    surges[i] = std::clamp<int64_t>((thousandths + 5) / 10, 100, 300);
  }
}

// Returns the speed in hundredths of a kilometre per hour.
int64_t Rides::SpeedOf(uint64_t row, uint32_t hour) const {
  const FieldRandom& random = random_[Draw::kSpeed];
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
  const Columns pickup = {Numbers(batch, kPickupLocationLat), Numbers(batch, kPickupLocationLon),
                          Codes(batch, kPickupLocationName),  Codes(batch, kPickupLocationPoiType),
                          Codes(batch, kPickupLocationCity),  Codes(batch, kPickupLocationState)};
  const Columns dropoff = {
      Numbers(batch, kDropoffLocationLat), Numbers(batch, kDropoffLocationLon),
      Codes(batch, kDropoffLocationName),  Codes(batch, kDropoffLocationPoiType),
      Codes(batch, kDropoffLocationCity),  Codes(batch, kDropoffLocationState)};
  const auto [distances, durations] = Numbers(batch, kDistanceKm, kDurationMinutes);
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
    const uint64_t bits = random_[Draw::kPlaces].Bits(rows[i]);
    const uint64_t from = UpperProduct(bits, places.count);
    // A different place has a different kind: a state has one of each.
    const uint64_t other = UpperProduct(LowerHalf(bits), places.count - 1u);
    const uint64_t to = other + (other >= from ? 1 : 0);
    put(pickup, i, places.first + from, scratch.state[i]);
    put(dropoff, i, places.first + to, scratch.state[i]);

    // In hundredths of a kilometre.
    const int64_t detour = random_[Draw::kDetour].Between(1'300, 1'500, rows[i]);
    distances[i] =
        std::max<int64_t>(100, (metres_[places.first + from][to] * detour + 5'000) / 10'000);
    const int64_t minutes = distances[i] * 60 / SpeedOf(rows[i], scratch.hour[i]);
    durations[i] = std::max<int64_t>(5, minutes);
  }
}

void Rides::FillOutcome(const BatchRows& rows, Batch& batch) const {
  const int64_t* const requests = Numbers(batch, kRequestDatetime);
  const int64_t* const durations = Numbers(batch, kDurationMinutes);
  const auto [statuses, payments, reasons] =
      Codes(batch, kStatus, kPaymentMethod, kCancellationReason);
  const auto reason_present = Present(batch, kCancellationReason);
  const auto [accepts, pickups, dropoffs, waits, driver_ratings, passenger_ratings] =
      Numbers(batch, kAcceptDatetime, kPickupDatetime, kDropoffDatetime, kWaitTimeMinutes,
              kDriverRating, kPassengerRating);
  const std::array present = {Present(batch, kAcceptDatetime),  Present(batch, kPickupDatetime),
                              Present(batch, kDropoffDatetime), Present(batch, kWaitTimeMinutes),
                              Present(batch, kDriverRating),    Present(batch, kPassengerRating)};
  constexpr uint16_t kCompleted = 0;
  constexpr uint16_t kByDriver = 2;
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    uint64_t bits = random_[Draw::kOutcome].Bits(rows[i]);
    const auto status = static_cast<uint16_t>(statuses_.Of(bits));
    statuses[i] = status;
    payments[i] = static_cast<uint16_t>(payments_.Of(LowerHalf(bits)));
    for (uint8_t* column : present) column[i] = status == kCompleted;

    bits = random_[Draw::kTimes].Bits(rows[i]);
    accepts[i] =
        requests[i] + static_cast<int64_t>(10 + UpperProduct(bits, 51)) * kMicrosecondsPerSecond;
    waits[i] = 2 + static_cast<int64_t>(UpperProduct(LowerHalf(bits), 14));
    pickups[i] = accepts[i] + waits[i] * kMicrosecondsPerMinute;
    dropoffs[i] = pickups[i] + durations[i] * kMicrosecondsPerMinute;
    bits = random_[Draw::kRatings].Bits(rows[i]);
    driver_ratings[i] = 5 - static_cast<int64_t>(driver_ratings_.Of(bits));
    passenger_ratings[i] = 5 - static_cast<int64_t>(passenger_ratings_.Of(LowerHalf(bits)));

    const bool cancelled = status != kCompleted && status <= kByDriver;
    reason_present[i] = cancelled;
    reasons[i] = 0;
    if (cancelled) {
      const uint64_t reason =
          random_[Draw::kReason].Below(lists::kCancellationReasonsEach, rows[i]);
      reasons[i] = static_cast<uint16_t>(
          reason + (status == kByDriver ? lists::kCancellationReasonsEach : 0));
    }
  }
}

// In cents, rounded half up. Rides that were not completed are free.
void Rides::FillFare(const BatchRows& rows, const Scratch& scratch, Batch& batch) const {
  constexpr int64_t kMinFare = 800;
  const int64_t* const distances = Numbers(batch, kDistanceKm);
  const int64_t* const durations = Numbers(batch, kDurationMinutes);
  const int64_t* const surges = Numbers(batch, kSurgeMultiplier);
  const uint16_t* const statuses = Codes(batch, kStatus);
  const uint16_t* const apps = Codes(batch, kApp);
  const auto [bases, fares, pays, fees, tips] =
      Numbers(batch, kBaseFare, kFinalFare, kDriverPay, kPlatformFee, kTip);
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    if (statuses[i] != 0) {
      bases[i] = fares[i] = pays[i] = fees[i] = tips[i] = 0;
      continue;
    }
    const lists::RideCategory& category = lists::kRideCategories[scratch.category[i]];
    bases[i] = category.base + (distances[i] * category.per_kilometre + 50) / 100 +
               durations[i] * category.per_minute;
    fares[i] = std::max(kMinFare, (bases[i] * surges[i] + 50) / 100);
    fees[i] = (fares[i] * lists::kRideApps[apps[i]].fee_percent + 50) / 100;
    pays[i] = fares[i] - fees[i];
    const uint64_t bits = random_[Draw::kTip].Bits(rows[i]);
    const auto thousandths = static_cast<int64_t>(100 + UpperProduct(LowerHalf(bits), 151));
    tips[i] = Percent(bits) < 20 ? (fares[i] * thousandths + 500) / 1'000 : 0;
  }
}

}  // namespace

std::unique_ptr<TableRows> MakeRides(const World& world) { return std::make_unique<Rides>(world); }

}  // namespace reveza::fraudgen::classic
