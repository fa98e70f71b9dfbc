// All frauds of a block's rides, planned before the rides are made, and what they leave in the
// fields. Not safe from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datagen/coherent/fleet.h"
#include "datagen/coherent/ride.h"

namespace reveza::datagen::coherent {

struct RideFraudPlan {
  int64_t time = 0;
  uint64_t key = 0;                 // of what is still to be drawn
  uint64_t driver = kNoDriver;      // the place in the block; none: whoever comes
  DeviceNumber device = kNoDevice;  // unless it is the passenger's own
  uint32_t passenger = 0;           // the place in the block
  RideFraudType type = RideFraudType::kGpsSpoofing;
};

class RideFrauds {
 public:
  // `people` are the block's customers.
  RideFrauds(const World& world, const Fleet& fleet, uint64_t block,
             std::span<const Person> people);

  // In order of time, exactly as many as the block must have.
  std::vector<RideFraudPlan> Plan();

  // The traits that are not hidden, of a ride that is complete but for its fare.
  void Deceive(const RideFraudPlan& plan, const Driver& driver, Ride& ride) const;
  // When it was reported; kNever if never.
  int64_t ReportedAt(const Ride& ride) const;

 private:
  void PlanEpisode(RideFraudType type, uint64_t rows, uint64_t number);
  uint32_t Neighbour(uint32_t passenger, int64_t time, Draws& draws) const;
  bool Shows(Draws& draws) const;

  const World* world_;
  const Fleet* fleet_;
  uint64_t block_;
  std::span<const Person> people_;
  std::vector<uint32_t> by_city_;  // people in the order of their cities
  std::vector<uint32_t> first_of_city_;
  std::vector<RideFraudPlan> plans_;
};

}  // namespace reveza::datagen::coherent
