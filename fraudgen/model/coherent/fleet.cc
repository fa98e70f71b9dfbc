#include "fraudgen/model/coherent/fleet.h"

#include <algorithm>
#include <bit>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {
namespace {

// Monthly rides with simulated customers; drivers have other passengers, too.
constexpr uint64_t kRidesPerDriver = 60;
constexpr uint64_t kMaxDrivers = 8'000;  // per block, plus one in each city

// Most cars are economy.
uint8_t VehicleOf(Draws& draws) {
  const uint64_t percent = draws.Below(100);
  const auto level = percent < 72   ? lists::ComfortLevel::kEconomy
                     : percent < 93 ? lists::ComfortLevel::kComfort
                                    : lists::ComfortLevel::kBlack;
  static_assert(std::ranges::is_sorted(lists::kVehicles, {}, &lists::Vehicle::level));
  const auto cars = std::ranges::equal_range(lists::kVehicles, level, {}, &lists::Vehicle::level);
  const auto first = static_cast<uint64_t>(cars.begin() - lists::kVehicles.begin());
  return static_cast<uint8_t>(first + draws.Below(cars.size()));
}

uint8_t AppsOf(Draws& draws) {
  const uint64_t percent = draws.Below(100);
  // One or both of the large apps, then each small one independently.
  uint8_t apps = percent < 45 ? 1 : percent < 75 ? 3 : 2;
  if (draws.Chance(120'000)) apps |= 4;
  if (draws.Chance(150'000)) apps |= 8;
  return apps;
}

}  // namespace

bool IsOnShift(Shift shift, int64_t hour) {
  switch (shift) {
    case Shift::kDay:
      return hour >= 6 && hour < 18;
    case Shift::kEvening:
      return hour >= 13;
    case Shift::kNight:
      return hour >= 17 || hour < 7;
  }
  return true;
}

bool CanServe(const Driver& driver, std::size_t category) {
  const lists::RideCategory& wanted = lists::kRideCategories[category];
  return (driver.apps >> wanted.app & 1) != 0 &&
         wanted.level <= lists::kVehicles[driver.vehicle].level;
}

// Any car qualifies for the cheapest category of every app.
uint8_t CategoryFor(const Driver& driver, uint64_t bits) {
  std::size_t found = 0;
  uint64_t weights = 0;
  for (std::size_t category = 0; category < lists::kRideCategories.size(); ++category) {
    if (!CanServe(driver, category)) continue;
    const bool simple = lists::kRideCategories[category].level == lists::ComfortLevel::kEconomy;
    const uint64_t weight =
        lists::kRideApps[lists::kRideCategories[category].app].weight * (simple ? 4 : 1);
    weights += weight;
    // Weighted reservoir sampling.
    if (UpperProduct(Mix(bits + category), weights) < weight) found = category;
  }
  return static_cast<uint8_t>(found);
}

Fleet::Fleet(const World& world) : world_(&world) {
  const Parameters& parameters = world.parameters();
  const auto fitting =
      static_cast<uint64_t>(static_cast<unsigned __int128>(parameters.rides) * 30 /
                            (world.blocks() * parameters.Days() * kRidesPerDriver));
  if (parameters.rides == 0) return;
  spread_ = std::min(fitting, kMaxDrivers);
  per_block_ = lists::kCities.size() + spread_;
}

std::vector<uint32_t> Fleet::FirstsOfCities(uint64_t block) const {
  std::vector<uint32_t> firsts(lists::kCities.size() + 1);
  if (per_block_ == 0) return firsts;
  std::vector<uint64_t> customers(lists::kCities.size());
  const uint64_t first = world_->FirstCustomer(block);
  const uint64_t end = first + world_->Customers(block);
  for (uint64_t town = first / World::kTown; town * World::kTown < end; ++town) {
    customers[world_->CityOfTown(town)] +=
        std::min(end, (town + 1) * World::kTown) - std::max(first, town * World::kTown);
  }
  constexpr uint64_t kPopulation = [] {
    uint64_t population = 0;
    for (const lists::City& city : lists::kCities) population += city.weight;
    return population;
  }();
  // A quarter by population: for journeys, and for customers who live elsewhere than their town.
  const uint64_t all = 4 * kPopulation * world_->Customers(block);
  uint64_t before = 0;
  for (std::size_t city = 0; city < lists::kCities.size(); ++city) {
    before +=
        lists::kCities[city].weight * world_->Customers(block) + 3 * kPopulation * customers[city];
    // The static analyzer does not see that a block has customers.
    firsts[city + 1] =
        static_cast<uint32_t>(city + 1 + spread_ * before / std::max<uint64_t>(1, all));
  }
  return firsts;
}

Driver Fleet::DriverOf(uint64_t number, uint32_t city) const {
  Driver driver;
  driver.number = number;
  driver.city = static_cast<uint16_t>(city);
  driver.state = static_cast<uint8_t>(lists::kStateOfCity[driver.city]);
  Draws draws(world_->keys().Of(Purpose::kDriver, number));
  driver.key = draws.Bits();
  driver.home = world_->PlaceOfCity(driver.city);
  driver.home.latitude += static_cast<int32_t>(draws.Between(-90'000, 90'000));
  driver.home.longitude += static_cast<int32_t>(draws.Between(-90'000, 90'000));
  driver.vehicle = VehicleOf(draws);
  driver.apps = AppsOf(draws);
  const uint64_t shift = draws.Below(100);
  driver.shift = shift < 45 ? Shift::kDay : shift < 80 ? Shift::kEvening : Shift::kNight;
  driver.rating = ClampedNormal(draws.Bits(), 475, 14, 400, 500);
  const int64_t months = draws.Between(1, 60);
  driver.registered_day =
      world_->parameters().first_day - months * 30 - static_cast<int64_t>(draws.Below(30));
  driver.trips = months * draws.Between(40, 260);
  return driver;
}

}  // namespace reveza::fraudgen::coherent
