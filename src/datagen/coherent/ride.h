// One ride while it is made, before it is written into columns.
#pragma once

#include <cstdint>

#include "datagen/coherent/row.h"
#include "datagen/schema_coherent.h"

namespace reveza::datagen::coherent {

inline constexpr uint64_t kNoDriver = ~uint64_t{0};

struct RidePlace {
  Place place;
  uint16_t city = 0;  // index into lists::kCities
  RidePlaceKind kind = RidePlaceKind::kHome;
};

struct Ride {
  uint64_t number = 0;  // of all rides, which the identifiers are made from
  uint64_t passenger = 0;
  uint64_t driver = kNoDriver;
  DeviceNumber device = 0;
  int64_t time = 0;
  int64_t accepted_at = 0;
  int64_t picked_up_at = 0;
  int64_t dropped_off_at = 0;
  int64_t reported_at = kNever;
  int64_t route = 0;     // hundredths of a kilometre
  int64_t distance = 0;  // the same, as metered
  int64_t minutes = 0;
  int64_t wait = 0;
  int64_t base = 0;     // cents, as all money
  int64_t surge = 100;  // hundredths
  int64_t discount = 0;
  int64_t fare = 0;
  int64_t pay = 0;
  int64_t fee = 0;
  int64_t tip = 0;
  int64_t temperature = 0;  // tenths of a degree
  RidePlace from;
  RidePlace to;
  uint32_t pair = 0;     // rides of the two before, in this month
  int32_t score = 0;     // hundredths
  uint8_t category = 0;  // index into lists::kRideCategories
  uint8_t payment = 0;
  uint8_t split = 0;
  uint8_t weather = 0;
  uint8_t reason = 0;
  uint8_t driver_rating = 5;
  uint8_t passenger_rating = 5;
  RideStatus status = RideStatus::kCompleted;
  RideRule rule = RideRule::kLongWay;
  RideFraudType fraud_type = RideFraudType::kGpsSpoofing;
  RideFraudRole fraud_role = RideFraudRole::kDriver;
  bool paid = true;
  bool alert = false;
  bool is_fraud = false;
};

constexpr bool IsCompleted(const Ride& ride) { return ride.status == RideStatus::kCompleted; }
constexpr bool IsCancelled(const Ride& ride) {
  return ride.status == RideStatus::kCancelledByPassenger ||
         ride.status == RideStatus::kCancelledByDriver;
}

}  // namespace reveza::datagen::coherent
