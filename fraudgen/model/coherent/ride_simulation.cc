#include "fraudgen/model/coherent/ride_simulation.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr int64_t kImplausibleSpeed = 6'500;  // hundredths of a kilometre per hour
constexpr int64_t kAlertAbove = 44'000;       // thousandths of a point, like the parts of a score
constexpr int64_t kBase = 9'000;
constexpr int64_t kNoise = 13'000;
// Rides ordered with the terminal of a shop or a workplace by those who use it, and rides of all
// that are ordered with a neighbour's phone, at difficulty 0.5, in millionths.
constexpr uint64_t kByTerminal = 150'000;
constexpr uint64_t kByNeighbour = 8'000;
// Rides with a device new to the passenger that get the coupon of a first ride, in millionths.
constexpr uint64_t kWelcomed = 400'000;
// Passengers who ride with one driver mostly, and their rides with that one, in millionths.
constexpr uint64_t kLoyal = 80'000;
constexpr uint64_t kWithUsualDriver = 600'000;
// How long a driver waits where a ride was cancelled.
constexpr int64_t kWaitsFor = 6 * kMinute;

}  // namespace

RideSimulation::RideSimulation(const World& world, const Fleet& fleet, uint64_t block,
                               TableBatches& tables)
    : world_(&world),
      fleet_(&fleet),
      first_of_city_(fleet.FirstsOfCities(block)),
      block_(block),
      tables_(&tables),
      honest_(world),
      life_(world),
      labels_(world),
      slices_(SlicesOf(world)),
      next_ride_(world.FirstRide(block)) {}

void RideSimulation::MakePassengers() {
  const uint64_t first = world_->FirstCustomer(block_);
  const uint64_t count = world_->Customers(block_);
  for (uint64_t i = 0; i < count; ++i) {
    people_.push_back(world_->PersonOf(first + i));
    const CustomerState state(*world_, first + i, block_, world_->RowsAMonth(people_.back()));
    passengers_.push_back(
        {.month = {}, .device = state.main_device.device, .next_slot = state.next_slot});
    if (const auto host = world_->TerminalHostOf(first + i)) {
      passengers_.back().terminal = world_->CustomersDevice(*host, kTerminalSlot);
    }
    people_.back().monthly_rows = MonthlyRides(people_.back());
    for (const Slice& slice : slices_) weight_ += Activity(people_.back(), slice);
  }
}

Status RideSimulation::Run() {
  if (world_->Rides(block_) == 0 && fleet_->PerBlock() == 0) return {};
  for (uint32_t i = 0, city = 0; i < fleet_->PerBlock(); ++i) {
    while (i >= first_of_city_[city + 1]) ++city;
    drivers_.push_back({.driver = fleet_->DriverOf(fleet_->First(block_) + i, city)});
    RETURN_IF_ERROR(tables_->Put(drivers_.back().driver));
  }
  if (!tables_->WantsRides()) return tables_->Flush();
  MakePassengers();
  free_.resize(first_of_city_.size());
  frauds_ = std::make_unique<RideFrauds>(*world_, first_of_city_, block_, people_);
  plans_ = frauds_->Plan();
  for (const Slice& slice : slices_) {
    PlanSlice(slice);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Event event = order_.At(i);
      RETURN_IF_ERROR(event.fraud ? MakeFraud(plans_[event.index])
                                  : Make(event.customer, event.index, slice, order_.TimeAt(i)));
    }
  }
  return tables_->Flush();
}

// Plans the number and times of each passenger's rides this month.
void RideSimulation::PlanSlice(const Slice& slice) {
  const unsigned __int128 rides = world_->Rides(block_) - world_->RideFrauds(block_);
  order_.Begin(slice.begin());
  pairs_.clear();
  auto done = static_cast<uint64_t>(weight_ == 0 ? 0 : rides * weight_before_ / weight_);
  for (uint32_t i = 0; i < people_.size(); ++i) {
    weight_before_ += Activity(people_[i], slice);
    const auto until = static_cast<uint64_t>(weight_ == 0 ? 0 : rides * weight_before_ / weight_);
    Passenger& passenger = passengers_[i];
    // Keeps a new phone that was not used yet.
    DeviceOf(i, slice.begin());
    passenger.month = honest_.PlanMonth(people_[i], slice, static_cast<uint32_t>(until - done));
    if (passenger.month.new_phone_at <= std::max(people_[i].opened_at, slice.begin()) ||
        passenger.month.new_phone_at >= people_[i].closes_at ||
        passenger.next_slot >= kTerminalSlot) {
      passenger.month.new_phone_at = kNever;
    }
    done = until;
    order_.BeginCustomer(i);
    for (uint32_t k = 0; k < passenger.month.rows; ++k) {
      order_.Add(life_.TripOf(people_[i], passenger.month, slice, k).time);
    }
  }
  order_.BeginFrauds(static_cast<uint32_t>(next_plan_));
  for (; next_plan_ < plans_.size() && plans_[next_plan_].time < slice.end(); ++next_plan_) {
    order_.Add(plans_[next_plan_].time);
  }
  order_.Sort();
}

DeviceNumber RideSimulation::DeviceOf(uint32_t passenger, int64_t time) {
  Passenger& owner = passengers_[passenger];
  if (owner.month.new_phone_at != kNever && owner.month.new_phone_at <= time) {
    owner.device = world_->CustomersDevice(people_[passenger].number, owner.next_slot++);
    owner.month.new_phone_at = kNever;
    owner.rides_by_phone = 0;
  }
  return owner.device;
}

DeviceNumber RideSimulation::DeviceUsed(uint32_t passenger, int64_t time, Draws& draws) {
  const DeviceNumber own = DeviceOf(passenger, time);
  const DeviceNumber terminal = passengers_[passenger].terminal;
  if (terminal != kNoDevice && draws.Chance(kByTerminal)) return terminal;
  if (!draws.Chance(kByNeighbour * world_->parameters().LookalikeFactor() / 1'000)) return own;
  const auto first = static_cast<uint32_t>(passenger / World::kQuarter * World::kQuarter);
  const auto neighbour = static_cast<uint32_t>(first + draws.Below(World::kQuarter));
  if (neighbour >= people_.size() || people_[neighbour].opened_at > time) return own;
  // Those who live together share devices anyway.
  if (people_[neighbour].home_key == people_[passenger].home_key) return own;
  return DeviceOf(neighbour, time);
}

bool RideSimulation::IsNewDevice(uint32_t passenger, const Ride& ride) {
  Passenger& user = passengers_[passenger];
  if (ride.device == user.device) return user.rides_by_phone++ < 2;
  return ride.device != user.terminal && !uses_.contains({ride.device, passenger});
}

// Writes when the passenger first uses a device that is neither the own phone nor the terminal.
Status RideSimulation::PutUse(uint32_t passenger, const Ride& ride) {
  const Passenger& user = passengers_[passenger];
  if (ride.device == user.device || ride.device == user.terminal) return {};
  if (!uses_.emplace(ride.device, passenger).second) return {};
  const bool stolen = World::IsFraudsterDevice(ride.device);
  const Person& person = people_[passenger];
  return tables_->Put(
      DeviceUseRow{.device = ride.device,
                   .customer = person.number,
                   .since = ride.time,
                   .profile = stolen ? person.profile
                                     : world_->BriefPersonOf(World::OwnerOf(ride.device)).profile});
}

// Returns a free driver of the city, preferably one whose ride was just cancelled or who is on
// shift, or null.
RideSimulation::ActiveDriver* RideSimulation::FindDriver(const Ride& ride, Draws& draws) {
  constexpr int kTries = 10;
  constexpr int kTriesOnShift = 6;
  const uint64_t first = first_of_city_[ride.from.city];
  const uint64_t count = first_of_city_[ride.from.city + std::size_t{1}] - first;
  const Free free = std::exchange(free_[ride.from.city], {});
  if (free.driver != kNoDriver && ride.time - free.since < kWaitsFor &&
      drivers_[free.driver].busy_until <= ride.time) {
    return &drivers_[free.driver];
  }
  for (int i = 0; i < kTries; ++i) {
    ActiveDriver& candidate = drivers_[first + draws.Below(count)];
    if (candidate.busy_until > ride.time) continue;
    if (i < kTriesOnShift && !IsOnShift(candidate.driver.shift, ride.time % kDay / kHour)) continue;
    return &candidate;
  }
  return nullptr;
}

RideSimulation::ActiveDriver* RideSimulation::UsualDriver(uint32_t passenger, const Ride& ride,
                                                          Draws& draws) {
  const Person& person = people_[passenger];
  const bool loyal = Mix(person.key ^ 0x6c6f79616cu) % 1'000'000 < kLoyal;
  if (!loyal || ride.from.city != person.city) return FindDriver(ride, draws);
  uint64_t& usual = passengers_[passenger].usual_driver;
  if (usual != kNoDriver && drivers_[usual].busy_until <= ride.time &&
      draws.Chance(kWithUsualDriver)) {
    return &drivers_[usual];
  }
  ActiveDriver* const found = FindDriver(ride, draws);
  if (usual == kNoDriver && found != nullptr)
    usual = static_cast<uint64_t>(found - drivers_.data());
  return found;
}

Status RideSimulation::Make(uint32_t passenger, uint32_t index, const Slice& slice, int64_t time) {
  const Month& month = passengers_[passenger].month;
  Draws draws(Mix(month.key + index) ^ static_cast<uint64_t>(Purpose::kRideIds));
  const Trip trip = life_.TripOf(people_[passenger], month, slice, index);
  Ride ride;
  ride.time = time;
  ride.from = trip.from;
  ride.to = trip.to;
  ride.device = DeviceUsed(passenger, time, draws);
  life_.SetConditions(ride);
  ActiveDriver* const active_driver = UsualDriver(passenger, ride, draws);
  life_.Drive(people_[passenger], active_driver == nullptr ? Driver() : active_driver->driver,
              draws, ride);
  // Apps welcome what they take for a new customer.
  if (IsNewDevice(passenger, ride) && draws.Chance(kWelcomed)) {
    ride.discount = draws.Between(40, 90);
  }
  if (active_driver == nullptr) {
    ride.status = RideStatus::kNoDriver;
  } else {
    life_.Decide(active_driver->driver, draws, ride);
  }
  if (active_driver != nullptr && IsCancelled(ride)) {
    free_[ride.from.city] = {.driver = static_cast<uint64_t>(active_driver - drivers_.data()),
                             .since = time};
  }
  RETURN_IF_ERROR(PutUse(passenger, ride));
  return Finish(passenger, active_driver, ride.surge, draws, ride);
}

Status RideSimulation::MakeFraud(const RideFraudPlan& plan) {
  const Person& person = people_[plan.passenger];
  Draws draws(plan.key);
  const Trip trip = life_.TripAt(person, passengers_[plan.passenger].month, plan.time, draws);
  Ride ride;
  ride.time = plan.time;
  ride.from = trip.from;
  ride.to = trip.to;
  const DeviceNumber own = DeviceOf(plan.passenger, plan.time);
  ride.device = plan.device == kNoDevice ? own : plan.device;
  life_.SetConditions(ride);
  ActiveDriver* active_driver =
      plan.driver == kNoDriver ? FindDriver(ride, draws) : &drivers_[plan.driver];
  // Planned frauds always happen, if necessary with a busy driver.
  if (active_driver == nullptr) active_driver = &drivers_[first_of_city_[ride.from.city]];
  life_.Drive(person, active_driver->driver, draws, ride);
  life_.Decide(active_driver->driver, draws, ride);
  const int64_t usual_surge = ride.surge;
  frauds_->ApplyTraits(plan, active_driver->driver, ride);
  RETURN_IF_ERROR(PutUse(plan.passenger, ride));
  return Finish(plan.passenger, active_driver, usual_surge, draws, ride);
}

Status RideSimulation::Finish(uint32_t passenger, ActiveDriver* active_driver, int64_t usual_surge,
                              Draws& draws, Ride& ride) {
  ride.number = next_ride_++;
  ride.passenger = people_[passenger].number;
  ride.picked_up_at = ride.accepted_at + ride.wait * kMinute;
  ride.dropped_off_at = ride.picked_up_at + ride.minutes * kMinute;
  Charge(ride);
  bool overlaps = false;
  if (active_driver != nullptr) {
    ride.driver = active_driver->driver.number;
    overlaps = active_driver->busy_until > ride.time;
    const auto place = static_cast<uint64_t>(active_driver - drivers_.data());
    uint32_t& pair = pairs_[uint64_t{passenger} << 32 | place];
    ride.pair = pair;
    if (IsCompleted(ride)) {
      ++pair;
      active_driver->busy_until = std::max(active_driver->busy_until, ride.dropped_off_at);
    }
  }
  Score(passenger, overlaps, usual_surge, draws, ride);
  ride.reported_at = frauds_->ReportedAt(ride);
  labels_.Reduce(ride);
  return tables_->Put(ride);
}

// Computes the app's noisy risk score from what is known at the end of the ride.
void RideSimulation::Score(uint32_t passenger, bool overlaps, int64_t usual_surge, Draws& draws,
                           Ride& ride) const {
  const bool fast = ride.distance * 60 > kImplausibleSpeed * ride.minutes;
  const int64_t whole = ride.fare + ride.discount;
  const std::array<int64_t, 7> parts = {
      IsCompleted(ride) && (fast || ride.distance * 100 > ride.route * 115) ? 14'000 : 0,
      std::min<int64_t>(ride.pair * 5'000, 20'000),
      ride.discount * 100 > whole * 35 ? 10'000 : 0,
      ride.surge > usual_surge + 25 ? 9'000 : 0,
      ride.device != passengers_[passenger].device ? 9'000 : 0,
      IsCompleted(ride) && !ride.paid ? 11'000 : 0,
      overlaps ? 12'000 : 0};
  int64_t score = kBase;
  for (const int64_t part : parts) score += part;
  score += std::abs(NormalOf(draws.Bits())) * kNoise / kOne;
  ride.rule = static_cast<RideRule>(std::ranges::max_element(parts) - parts.begin());
  ride.score = static_cast<int32_t>(std::clamp<int64_t>(score, 0, 99'990) / 10);
  ride.alert = score > kAlertAbove;
}

}  // namespace reveza::fraudgen::coherent
