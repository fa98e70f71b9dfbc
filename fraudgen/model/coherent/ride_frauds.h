// Plans the ride frauds of a block before its rides are generated, and applies their traits. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fraudgen/model/coherent/fleet.h"
#include "fraudgen/model/coherent/row.h"

namespace reveza::fraudgen::coherent {

struct RideFraudPlan {
  int64_t time = 0;
  uint64_t key = 0;                 // seeds what is drawn later
  uint64_t driver = kNoDriver;      // index in the block; kNoDriver: any available driver
  DeviceNumber device = kNoDevice;  // kNoDevice: the passenger's own
  uint32_t passenger = 0;           // index in the block
  RideFraudType type = RideFraudType::kGpsSpoofing;
};

// Returns who deceives.
RideFraudRole RoleOf(RideFraudType type);

class RideFrauds {
 public:
  // `people` are the block's customers, `first_drivers` as of Fleet::FirstsOfCities().
  RideFrauds(const World& world, std::span<const uint32_t> first_drivers, uint64_t block,
             std::span<const Person> people);

  // Returns the plans in time order, exactly as many as the block requires.
  std::vector<RideFraudPlan> Plan();

  // Applies the traits that are not concealed to a ride that lacks only its fare.
  void ApplyTraits(const RideFraudPlan& plan, const Driver& driver, Ride& ride) const;
  // Returns when the fraud was reported, or kNever.
  int64_t ReportedAt(const Ride& ride) const;

 private:
  void PlanEpisode(RideFraudType type, uint64_t rows, uint64_t number);
  uint32_t Neighbour(uint32_t passenger, int64_t time, Draws& draws) const;

  const World* world_;
  std::span<const uint32_t> first_drivers_;
  uint64_t block_;
  std::span<const Person> people_;
  std::vector<uint32_t> by_city_;  // indices into people_, sorted by city
  std::vector<uint32_t> first_of_city_;
  std::vector<RideFraudPlan> plans_;
};

}  // namespace reveza::fraudgen::coherent
