// What the rides of the coherent model say about each other, block by block: a driver's rides in
// order, pairs of passenger and driver, the weather of a city, and the alerts about them. Written
// from the documentation of the columns, not from the program that makes them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "datagen/check/table_check.h"

namespace reveza::datagen::check {

// Its tables come in this order: accounts, devices, drivers and ride_alerts before rides.
class RideTimelineCheck final : public TableCheck {
 public:
  void Look(const Batch& batch, const Position& position) override;
  void EndBlock() override;
  // Nothing where there are no rides.
  void Report(std::vector<Outcome>& outcomes) const override;

 private:
  struct Driver {
    std::string city;
    std::string apps;
    std::string categories;
    int64_t busy_until = INT64_MIN;
  };
  struct Weather {
    int64_t period = INT64_MIN;
    uint16_t condition = 0;
  };
  struct Alert {
    uint64_t passenger = 0;
    int64_t time = 0;
    int64_t score = 0;
    bool found = false;
  };
  struct Rides;

  void AddAccounts(const Batch& batch);
  void AddDevices(const Batch& batch);
  void AddDrivers(const Batch& batch);
  void AddAlerts(const Batch& batch);
  void LookAtRides(const Batch& batch, const Position& position);
  void LookAtPassenger(const Rides& rides, const Position& position, std::size_t row);
  void LookAtDriver(const Rides& rides, const Position& position, std::size_t row);
  void LookAtWeather(const Rides& rides, const Position& position, std::size_t row);
  void LookAtAlert(const Rides& rides, const Position& position, std::size_t row);

  std::unordered_map<uint64_t, int64_t> opened_at_;   // of a customer's account
  std::unordered_map<uint64_t, int64_t> first_uses_;  // of a device with a customer
  std::unordered_map<uint64_t, Driver> drivers_;
  std::unordered_map<uint64_t, Alert> alerts_;      // by ride
  std::unordered_map<uint64_t, int64_t> pairs_;     // rides of this month
  std::unordered_map<std::string, Weather> skies_;  // by city and state
  int64_t last_time_ = INT64_MIN;
  int32_t month_ = 0;  // of pairs_

  Tally order_{"ride timeline: rides of a block are in order of time"};
  Tally opened_{"ride timeline: nobody rides before the account was opened"};
  Tally device_{"ride timeline: no device is used before its first use"};
  Tally home_{"ride timeline: drivers drive in their city, with their apps and categories"};
  Tally free_{"ride timeline: a driver has one honest ride at a time"};
  Tally pair_{"ride timeline: pair_rides_this_month is true"};
  Tally weather_{"ride timeline: a city has one weather for three hours"};
  Tally alert_{"ride_alerts: are of a ride of their block and say what it says"};
};

}  // namespace reveza::datagen::check
