// Generates trips, weather, fares and outcomes of rides. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/fleet.h"
#include "fraudgen/model/coherent/row.h"

namespace reveza::fraudgen::coherent {

struct Trip {
  int64_t time = 0;
  RidePlace from;
  RidePlace to;
};

// How far around the corner is, in millionths of a degree.
inline constexpr int64_t kAroundTheCorner = 6'000;

// Draws a place at most `reach` millionths of a degree away in each direction, all alike.
Place Around(Place place, int64_t reach, Draws& draws);
// Draws the length of the route between the ends of the ride.
int64_t RouteOf(const Ride& ride, Draws& draws);
// Returns the expected rides of a person per month, in sixteenths.
uint32_t MonthlyRides(const Person& person);

// Computes fare, fee and the driver's pay from distance, duration, surge and discount; all 0 for a
// ride that was not completed.
void Charge(Ride& ride);

class RideBehaviour {
 public:
  explicit RideBehaviour(const World& world);

  // Returns trip `index` of the customer's month: commute, errand, night out or airport transfer.
  Trip TripOf(const Person& person, const Month& month, const Slice& slice, uint32_t index) const;
  // Returns a plausible trip of the customer at this time.
  Trip TripAt(const Person& person, const Month& month, int64_t time, Draws& draws) const;

  // Sets weather, temperature and surge; time and start of `ride` are set.
  void SetConditions(Ride& ride) const;
  // Fills route, duration and the rest of a ride with `driver`, except fare and status.
  void Drive(const Person& person, const Driver& driver, Draws& draws, Ride& ride) const;
  // Sets status and ratings.
  void Decide(const Driver& driver, Draws& draws, Ride& ride) const;

 private:
  enum class Habit : uint8_t { kToWork, kFromWork, kErrand, kNight };

  // Returns trip `index` as if it were no way back.
  Trip FirstTripOf(const Person& person, const Month& month, const Slice& slice,
                   uint32_t index) const;
  Trip Errand(const Person& person, const Month& month, int64_t time, Draws& draws) const;
  Trip Usual(const Person& person, Habit habit, bool back, int64_t time, Draws& draws) const;
  bool JourneyTrip(const Person& person, const Month& month, uint32_t index, Draws& draws,
                   Trip& trip) const;
  RidePlace Shop(const Person& person, uint32_t city, RidePlaceKind kind, uint64_t bits) const;
  RidePlace Airport(uint32_t city) const;
  // Moves an end of the trip to a corner nearby, in some cases.
  static void Hail(Draws& draws, RidePlace& place);
  int64_t DayOf(Habit habit, const Slice& slice, Draws& draws) const;

  const World* world_;
  std::vector<WeightedChoice> habits_;  // by profile
  WeightedChoice dry_;
  WeightedChoice wet_;
  WeightedChoice payments_;
};

}  // namespace reveza::fraudgen::coherent
