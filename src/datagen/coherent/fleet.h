// The drivers: who they are, where and when they work, as functions of numbers. Immutable, so safe
// from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/coherent/world.h"

namespace reveza::datagen::coherent {

struct Driver {
  uint64_t number = 0;
  uint64_t key = 0;  // for what else depends on the driver
  Place home;
  int64_t rating = 0;  // hundredths, at the beginning
  int64_t trips = 0;   // before the first day
  int64_t registered_day = 0;
  uint16_t city = 0;
  uint8_t state = 0;
  uint8_t vehicle = 0;  // index into lists::kVehicles
  uint8_t apps = 1;     // bits, as in lists::kRideApps
  Shift shift = Shift::kDay;
};

// Whether a driver likes to work at this hour.
bool IsOnShift(Shift shift, int64_t hour);
// A category of ride that the driver may serve, by chance; every driver has one.
uint8_t CategoryFor(const Driver& driver, uint64_t bits);
// Whether the driver may serve it.
bool CanServe(const Driver& driver, std::size_t category);

class Fleet {
 public:
  explicit Fleet(const World& world);

  // Each block has as many, the same count in each city.
  uint64_t OfBlock() const { return first_of_city_.back(); }
  uint64_t First(uint64_t block) const { return block * OfBlock(); }
  // Those of a city are neighbours in a block: places from FirstOf(city) to FirstOf(city + 1).
  uint64_t FirstOf(std::size_t city) const { return first_of_city_[city]; }
  Driver DriverOf(uint64_t number) const;

 private:
  const World* world_;
  std::vector<uint32_t> first_of_city_;
};

}  // namespace reveza::datagen::coherent
