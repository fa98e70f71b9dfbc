// Lives the rides of a block's customers, month by month. Not safe from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "datagen/coherent/calendar.h"
#include "datagen/coherent/event_order.h"
#include "datagen/coherent/honest.h"
#include "datagen/coherent/ride_frauds.h"
#include "datagen/coherent/ride_life.h"
#include "datagen/coherent/tables.h"

namespace reveza::datagen::coherent {

class RideSimulation {
 public:
  RideSimulation(const World& world, const Fleet& fleet, uint64_t block, TableBatches& tables);

  // Everything of the block, in order.
  Status Run();

 private:
  struct Passenger {
    Month month;
    DeviceNumber device = 0;
    uint32_t next_slot = 0;
    uint64_t habit = 0;  // how often
  };
  struct AtWork {
    Driver driver;
    int64_t busy_until = kNever;
  };

  void MakePassengers();
  uint64_t ActivityOf(std::size_t passenger, const Slice& slice) const;
  void PlanSlice(const Slice& slice);
  DeviceNumber DeviceOf(uint32_t passenger, int64_t time);
  AtWork* FindDriver(const Ride& ride, Draws& draws);
  Status Make(uint32_t passenger, uint32_t index, const Slice& slice, int64_t time);
  Status MakeFraud(const RideFraudPlan& plan);
  Status Finish(uint32_t passenger, AtWork* at_work, int64_t usual_surge, Draws& draws, Ride& ride);
  static void Score(bool overlaps, int64_t usual_surge, Draws& draws, Ride& ride);

  const World* world_;
  const Fleet* fleet_;
  uint64_t block_;
  TableBatches* tables_;
  HonestLife honest_;
  RideLife life_;
  std::vector<Slice> slices_;
  std::vector<Person> people_;
  std::vector<Passenger> passengers_;
  std::vector<AtWork> drivers_;
  std::vector<RideFraudPlan> plans_;
  std::unique_ptr<RideFrauds> frauds_;  // once there are people
  EventOrder order_;
  std::unordered_map<uint64_t, uint32_t> pairs_;         // rides of two, of the month
  std::set<std::pair<DeviceNumber, uint32_t>> strange_;  // devices of thieves with their victims
  unsigned __int128 weight_ = 0;                         // of all months and passengers
  unsigned __int128 weight_before_ = 0;
  std::size_t next_plan_ = 0;
  uint64_t next_ride_;
};

}  // namespace reveza::datagen::coherent
