// The drivers, their cities and shifts, as functions of their numbers. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "fraudgen/model/coherent/world.h"

namespace reveza::fraudgen::coherent {

struct Driver {
  uint64_t number = 0;
  uint64_t key = 0;  // seeds everything else about the driver
  Place home;
  int64_t rating = 0;  // initial, in hundredths
  int64_t trips = 0;   // before the first day
  int64_t registered_day = 0;
  uint16_t city = 0;
  uint8_t state = 0;
  uint8_t vehicle = 0;  // index into lists::kVehicles
  uint8_t apps = 1;     // bit mask over lists::kRideApps
  Shift shift = Shift::kDay;
};

// Returns whether the hour belongs to the shift.
bool IsOnShift(Shift shift, int64_t hour);
// Draws a ride category that the driver can serve; there is always one.
uint8_t CategoryFor(const Driver& driver, uint64_t bits);
// Returns whether the driver can serve a ride category.
bool CanServe(const Driver& driver, std::size_t category);

class Fleet {
 public:
  explicit Fleet(const World& world);

  // Every block has the same number of drivers.
  uint64_t PerBlock() const { return per_block_; }
  uint64_t First(uint64_t block) const { return block * PerBlock(); }
  // Returns the first driver of each city within the block, and the end: at least one is in each
  // city, most of the others are where the block's customers live.
  std::vector<uint32_t> FirstsOfCities(uint64_t block) const;
  Driver DriverOf(uint64_t number, uint32_t city) const;

 private:
  const World* world_;
  uint64_t spread_ = 0;  // drivers of a block beyond one in each city
  uint64_t per_block_ = 0;
};

}  // namespace reveza::fraudgen::coherent
