// Where and when people ride, what the weather is, and what a ride costs. Immutable, so safe from
// any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/coherent/calendar.h"
#include "datagen/coherent/customer_state.h"
#include "datagen/coherent/fleet.h"
#include "datagen/coherent/ride.h"

namespace reveza::datagen::coherent {

struct Trip {
  int64_t time = 0;
  RidePlace from;
  RidePlace to;
};

// How often somebody rides, in sixteenths of a ride a month.
uint32_t MonthlyRides(const Person& person);

// Fare, fee and what the driver gets, from distance, duration, surge and discount; nothing for a
// ride that was not completed.
void Charge(Ride& ride);

class RideLife {
 public:
  explicit RideLife(const World& world);

  // Ride `index` of the customer's month: to work, out at night, to the airport of a journey.
  Trip TripOf(const Person& person, const Month& month, const Slice& slice, uint32_t index) const;
  // Where the customer would ride at this time.
  Trip TripAt(const Person& person, const Month& month, int64_t time, Draws& draws) const;

  // Weather, temperature and surge of a city at a time; `ride` has its time and its start.
  void Observe(Ride& ride) const;
  // Way, duration and the rest of a ride by `driver`, all but fare and status.
  void Drive(const Person& person, const Driver& driver, Draws& draws, Ride& ride) const;
  // Whether it takes place, and how people like it.
  void Decide(const Driver& driver, Draws& draws, Ride& ride) const;

 private:
  enum class Habit : uint8_t { kToWork, kFromWork, kErrand, kNight };

  Trip Errand(const Person& person, const Month& month, int64_t time, Draws& draws) const;
  Trip Usual(const Person& person, Habit habit, bool back, int64_t time, Draws& draws) const;
  bool JourneyTrip(const Person& person, const Month& month, uint32_t index, Draws& draws,
                   Trip& trip) const;
  RidePlace Shop(const Person& person, uint32_t city, RidePlaceKind kind, uint64_t bits) const;
  RidePlace Airport(uint32_t city) const;
  int64_t DayOf(Habit habit, const Slice& slice, Draws& draws) const;

  const World* world_;
  std::vector<WeightedChoice> habits_;  // by profile
  WeightedChoice dry_;
  WeightedChoice wet_;
  WeightedChoice payments_;
};

}  // namespace reveza::datagen::coherent
