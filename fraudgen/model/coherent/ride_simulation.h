// Simulates the rides of a block's customers, month by month. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/event_order.h"
#include "fraudgen/model/coherent/honest.h"
#include "fraudgen/model/coherent/labels.h"
#include "fraudgen/model/coherent/ride_behaviour.h"
#include "fraudgen/model/coherent/ride_frauds.h"
#include "fraudgen/model/coherent/tables.h"

namespace reveza::fraudgen::coherent {

class RideSimulation {
 public:
  RideSimulation(const World& world, const Fleet& fleet, uint64_t block, TableBatches& tables);

  // Generates all rows of the block, in order.
  Status Run();

 private:
  struct Passenger {
    Month month;
    DeviceNumber device = 0;
    DeviceNumber terminal = kNoDevice;
    uint64_t usual_driver = kNoDriver;  // index in the block, of those who ride with one mostly
    uint32_t next_slot = 0;
    uint32_t rides_by_phone = 0;  // since it was new
  };
  struct ActiveDriver {
    Driver driver;
    int64_t busy_until = kNever;
  };
  // A driver whose ride was cancelled.
  struct Free {
    uint64_t driver = kNoDriver;  // index in the block
    int64_t since = kNever;
  };

  void MakePassengers();
  void PlanSlice(const Slice& slice);
  // Returns the passenger's phone.
  DeviceNumber DeviceOf(uint32_t passenger, int64_t time);
  // Returns the phone, or in some cases a terminal or a phone that others use, too.
  DeviceNumber DeviceUsed(uint32_t passenger, int64_t time, Draws& draws);
  // Returns whether the device is new to the passenger; the own phone is for two rides.
  bool IsNewDevice(uint32_t passenger, const Ride& ride);
  Status PutUse(uint32_t passenger, const Ride& ride);
  ActiveDriver* FindDriver(const Ride& ride, Draws& draws);
  // Returns the driver with whom the passenger rides mostly, if that one is free, or any.
  ActiveDriver* UsualDriver(uint32_t passenger, const Ride& ride, Draws& draws);
  Status Make(uint32_t passenger, uint32_t index, const Slice& slice, int64_t time);
  Status MakeFraud(const RideFraudPlan& plan);
  Status Finish(uint32_t passenger, ActiveDriver* active_driver, int64_t usual_surge, Draws& draws,
                Ride& ride);
  void Score(uint32_t passenger, bool overlaps, int64_t usual_surge, Draws& draws,
             Ride& ride) const;

  const World* world_;
  const Fleet* fleet_;
  std::vector<uint32_t> first_of_city_;  // drivers
  uint64_t block_;
  TableBatches* tables_;
  HonestBehaviour honest_;
  RideBehaviour life_;
  Labels labels_;
  std::vector<Slice> slices_;
  std::vector<Person> people_;  // their activity is that of rides
  std::vector<Passenger> passengers_;
  std::vector<ActiveDriver> drivers_;
  std::vector<RideFraudPlan> plans_;
  std::unique_ptr<RideFrauds> frauds_;  // created once people_ is filled
  EventOrder order_;
  std::unordered_map<uint64_t, uint32_t> pairs_;      // rides per passenger and driver this month
  std::set<std::pair<DeviceNumber, uint32_t>> uses_;  // of other people's devices, by passengers
  std::vector<Free> free_;                            // by city
  unsigned __int128 weight_ = 0;                      // of all months and passengers
  unsigned __int128 weight_before_ = 0;
  std::size_t next_plan_ = 0;
  uint64_t next_ride_;
};

}  // namespace reveza::fraudgen::coherent
