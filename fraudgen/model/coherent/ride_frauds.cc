#include "fraudgen/model/coherent/ride_frauds.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "fraudgen/lists/places.h"
#include "fraudgen/model/coherent/ride_behaviour.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr uint64_t kRideDevices = (uint64_t{1} << 21) + (uint64_t{1} << 20);
constexpr int64_t kReportHours = 60;
constexpr int64_t kRideReportSpread = 80'000;  // log-normal deviation of the report delay
constexpr uint64_t kReported = 800'000;

// The shape of an episode; gaps in minutes.
struct Pattern {
  Range<int64_t> rides;
  Range<int64_t> gap;
  bool same_driver;
  bool same_passenger;
  RideFraudRole role;
};
constexpr std::array<Pattern, kRideFraudTypes> kPatterns = {{
    {{4, 9}, {300, 2'900}, true, false, RideFraudRole::kDriver},     // GPS_SPOOFING
    {{3, 8}, {40, 2'000}, false, false, RideFraudRole::kPassenger},  // PROMO_ABUSE
    {{3, 7}, {25, 90}, true, true, RideFraudRole::kBoth},            // GHOST_RIDE
    {{3, 6}, {60, 1'500}, true, false, RideFraudRole::kDriver},      // SURGE_ABUSE
    {{4, 8}, {1, 4}, true, false, RideFraudRole::kDriver},           // MULTI_ACCOUNT_DRIVER
    {{4, 8}, {120, 1'400}, true, true, RideFraudRole::kBoth},        // RATING_FRAUD
    {{2, 5}, {900, 6'000}, false, true, RideFraudRole::kPassenger},  // SPLIT_FARE_FRAUD
}};
// Draws an hour of the day at which rides are common.
int64_t BusyHour(Draws& draws) {
  const uint64_t percent = draws.Below(100);
  if (percent < 33) return draws.Between(390 * kMinute, 570 * kMinute);
  if (percent < 63) return draws.Between(17 * kHour, 20 * kHour);
  if (percent < 88) return draws.Between(9 * kHour, 21 * kHour);
  return draws.Between(19 * kHour, 23 * kHour);
}

// Ends the ride around the corner.
void Shorten(Draws& draws, Ride& ride) {
  ride.to = {.place = Around(ride.from.place, kAroundTheCorner, draws),
             .city = ride.from.city,
             .kind = RidePlaceKind::kStreet};
  ride.route = RouteOf(ride, draws);
  ride.distance = std::max<int64_t>(100, ride.route * draws.Between(960, 1'040) / 1'000);
  ride.minutes = std::max<int64_t>(4, ride.route * 60 / draws.Between(1'500, 4'500));
}

const Pattern& PatternOf(RideFraudType type) { return kPatterns[static_cast<std::size_t>(type)]; }

}  // namespace

RideFraudRole RoleOf(RideFraudType type) { return PatternOf(type).role; }

RideFrauds::RideFrauds(const World& world, std::span<const uint32_t> first_drivers, uint64_t block,
                       std::span<const Person> people)
    : world_(&world),
      first_drivers_(first_drivers),
      block_(block),
      people_(people),
      by_city_(people.size()),
      first_of_city_(lists::kCities.size() + 1) {
  std::iota(by_city_.begin(), by_city_.end(), 0u);
  std::ranges::sort(by_city_, {},
                    [&](uint32_t person) { return std::pair(people[person].city, person); });
  for (const Person& person : people) ++first_of_city_[person.city + 1u];
  std::partial_sum(first_of_city_.begin(), first_of_city_.end(), first_of_city_.begin());
}

// Returns another person in the same city with an open account, or `passenger`.
uint32_t RideFrauds::Neighbour(uint32_t passenger, int64_t time, Draws& draws) const {
  constexpr int kTries = 8;
  const std::size_t city = people_[passenger].city;
  const uint64_t first = first_of_city_[city];
  const uint64_t count = first_of_city_[city + 1] - first;
  for (int i = 0; i < kTries; ++i) {
    const uint32_t other = by_city_[first + draws.Below(count)];
    if (people_[other].opened_at <= time) return other;
  }
  return passenger;
}

std::vector<RideFraudPlan> RideFrauds::Plan() {
  plans_.clear();
  const std::span<const uint32_t> weights = world_->parameters().ride_frauds;
  const uint64_t sum = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  const uint64_t frauds = world_->RideFrauds(block_);
  if (frauds == 0 || sum == 0) return {};
  uint64_t number = 0;
  uint64_t before = 0;
  uint64_t weight = 0;
  for (std::size_t type = 0; type < weights.size(); ++type) {
    // Cumulative rounding makes the counts add up.
    weight += weights[type];
    const auto until = static_cast<uint64_t>(static_cast<unsigned __int128>(frauds) * weight / sum);
    for (uint64_t rows = until - before; rows > 0;) {
      Draws draws(world_->keys().Of(Purpose::kRideFrauds, number, 0) ^ Mix(block_));
      const Pattern& pattern = kPatterns[type];
      const auto wanted = static_cast<uint64_t>(draws.Between(pattern.rides));
      const uint64_t length = std::min(rows, wanted);
      PlanEpisode(static_cast<RideFraudType>(type), length, number++);
      rows -= length;
    }
    before = until;
  }
  std::ranges::sort(plans_, {}, [](const RideFraudPlan& plan) {
    return std::tuple(plan.time, plan.passenger, plan.key);
  });
  return std::move(plans_);
}

void RideFrauds::PlanEpisode(RideFraudType type, uint64_t rows, uint64_t number) {
  constexpr int kTries = 64;
  const Pattern& pattern = PatternOf(type);
  Draws draws(world_->keys().Of(Purpose::kRideFrauds, number, 1) ^ Mix(block_));
  const int64_t begin = world_->begin();
  const int64_t end = world_->end();
  int64_t time = draws.Between(begin, end - 1) / kDay * kDay + BusyHour(draws);
  uint32_t passenger = 0;
  for (int i = 0; i < kTries; ++i) {
    passenger = static_cast<uint32_t>(draws.Below(people_.size()));
    if (people_[passenger].opened_at <= time) break;
  }
  const std::size_t city = people_[passenger].city;
  // A third of a city's drivers are candidates.
  const uint64_t drivers = first_drivers_[city + 1] - first_drivers_[city];
  const uint64_t driver = first_drivers_[city] + draws.Below((drivers + 2) / 3);
  const bool overlaps = type == RideFraudType::kMultiAccountDriver;
  for (uint64_t i = 0; i < rows; ++i) {
    // What is left at the end of the period stands for episodes that were under way at its begin,
    // so that all days have as many frauds.
    if (time >= end) time = begin + (time - end) % (end - begin);
    if (!pattern.same_passenger || people_[passenger].opened_at > time) {
      passenger = Neighbour(passenger, time, draws);
    }
    RideFraudPlan plan = {.time = time, .key = draws.Bits(), .passenger = passenger, .type = type};
    plan.time = std::clamp(time, std::min(people_[passenger].opened_at, end - 1), end - 1);
    if (pattern.same_driver) plan.driver = driver;
    if (type == RideFraudType::kPromoAbuse && world_->parameters().RevealsTrait(draws)) {
      plan.device = world_->FraudsterDevice(block_, kRideDevices + number);
    }
    plans_.push_back(plan);
    // Some wait for the first ride to end.
    const bool waits = overlaps && !world_->parameters().RevealsTrait(draws);
    time += waits ? draws.Between(20 * kMinute, 2 * kHour)
                  : draws.Between(pattern.gap.min * kMinute, pattern.gap.max * kMinute);
    // Two at a time, then the next day.
    if (overlaps && i % 2 == 1) time += draws.Between(5 * kHour, 30 * kHour);
    // Some pause for days.
    if (!overlaps && draws.Chance(uint64_t{world_->parameters().Overlap()} * 600)) {
      time = (time / kDay + draws.Between(1, 4)) * kDay + BusyHour(draws);
    }
  }
}

void RideFrauds::ApplyTraits(const RideFraudPlan& plan, const Driver& driver, Ride& ride) const {
  Draws draws(Mix(plan.key));
  const auto reveals_trait = [&] { return world_->parameters().RevealsTrait(draws); };
  ride.is_fraud = true;
  ride.fraud_type = plan.type;
  ride.fraud_role = RoleOf(plan.type);
  // Passengers who see another car, or that it does not move, cancel.
  const bool seen =
      plan.type == RideFraudType::kGpsSpoofing || plan.type == RideFraudType::kMultiAccountDriver;
  if (!seen) ride.status = RideStatus::kCompleted;
  switch (plan.type) {
    case RideFraudType::kGpsSpoofing:
      // Inflates the metered distance but not the duration.
      if (reveals_trait()) ride.distance = ride.route * draws.Between(1'200, 1'900) / 1'000;
      if (reveals_trait()) ride.driver_rating = static_cast<uint8_t>(draws.Between(1, 4));
      break;
    case RideFraudType::kPromoAbuse:
      if (reveals_trait()) ride.discount = draws.Between(40, 90);
      if (reveals_trait()) ride.tip = 0;
      break;
    case RideFraudType::kGhostRide:
      // The car does not move from the driver's home.
      if (reveals_trait()) {
        ride.from = {.place = driver.home, .city = driver.city, .kind = RidePlaceKind::kStreet};
        Shorten(draws, ride);
      }
      if (reveals_trait()) ride.wait = 2;
      if (reveals_trait()) ride.payment = draws.Chance(500'000) ? 0 : 4;
      ride.driver_rating = ride.passenger_rating = 5;
      break;
    case RideFraudType::kSurgeAbuse:
      if (reveals_trait()) {
        ride.surge = std::min<int64_t>(300, ride.surge + draws.Between(30, 120));
      }
      if (reveals_trait()) ride.wait = draws.Between(10, 15);
      break;
    case RideFraudType::kMultiAccountDriver:
      if (reveals_trait()) ride.driver_rating = static_cast<uint8_t>(draws.Between(1, 3));
      if (reveals_trait()) ride.wait = draws.Between(9, 15);
      break;
    case RideFraudType::kRatingFraud:
      if (reveals_trait()) Shorten(draws, ride);
      ride.driver_rating = ride.passenger_rating = 5;
      ride.tip = 0;
      break;
    case RideFraudType::kSplitFareFraud:
      if (reveals_trait()) ride.split = static_cast<uint8_t>(draws.Between(2, 3));
      if (reveals_trait()) ride.paid = false;
      break;
  }
}

int64_t RideFrauds::ReportedAt(const Ride& ride) const {
  const Parameters& parameters = world_->parameters();
  Draws draws(world_->keys().Of(Purpose::kSettlements, ride.number, 2));
  if (ride.is_fraud) {
    if (!draws.Chance(kReported) || draws.Chance(parameters.Missed())) return kNever;
  } else if (!IsCompleted(ride) || !draws.Chance(parameters.FalselyReported())) {
    return kNever;
  }
  const int64_t delay = LogNormal(draws.Bits(), kReportHours * kHour, kRideReportSpread);
  return std::max(ride.dropped_off_at, ride.time) + std::max<int64_t>(delay, 10 * kMinute);
}

}  // namespace reveza::fraudgen::coherent
