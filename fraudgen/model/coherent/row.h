// A payment under construction, before it is written to columns.
#pragma once

#include <cstdint>

#include "fraudgen/model/coherent/world.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen::coherent {

struct Row {
  uint64_t number = 0;   // among all rows; determines the identifiers
  uint64_t session = 0;  // number of the session's first row
  uint64_t customer = 0;
  int64_t time = 0;
  int64_t amount = 0;
  int64_t balance = 0;
  int64_t accumulated = 0;
  int64_t reported_at = kNever;
  int64_t reviewed_at = kNever;  // of an alert
  DeviceNumber device = kNoDevice;
  AccountNumber receiver = kNoAccount;
  int64_t distance = -1;  // hundredths of a kilometre; -1 if unknown
  int64_t minutes = -1;
  MerchantNumber merchant = 0;
  Place place;
  uint32_t ip = 0;
  uint32_t count = 0;   // rows in the preceding 24 hours
  int32_t score = 0;    // hundredths
  int8_t contact = -1;  // index of the receiver among the customer's contacts
  uint8_t installments = 1;
  uint8_t brand = 0;
  Kind kind = Kind::kPix;
  Channel channel = Channel::kMobileApp;
  CardEntry entry = CardEntry::kChip;
  PaymentStatus status = PaymentStatus::kApproved;
  Refusal refusal = Refusal::kInsufficientBalance;
  AlertRule rule = AlertRule::kHighAmount;
  AlertDecision decision = AlertDecision::kFalseAlarm;
  uint8_t scenario = 0;  // of a fraud: index into Parameters::scenarios
  FraudRole fraud_role = FraudRole::kVictim;
  bool has_place = false;
  bool has_ip = false;
  bool has_merchant = false;
  bool receiver_is_shop = false;
  bool cvv_validated = false;
  bool auth_3ds = false;
  bool unusual_time = false;
  bool new_beneficiary = false;
  bool stranger = false;  // the receiver is paid only once
  bool is_fraud = false;
  bool alert = false;
  uint64_t card = 0;
};

constexpr bool IsCard(Kind kind) { return kind == Kind::kCreditCard || kind == Kind::kDebitCard; }
constexpr bool HasReceiver(Kind kind) { return kind == Kind::kPix || kind == Kind::kTed; }
// Returns whether the card number was typed in (online).
inline bool IsTyped(const Row& row) { return IsCard(row.kind) & (row.entry == CardEntry::kManual); }
// Returns whether the payment moved money, or will.
inline bool IsPaid(const Row& row) {
  return row.status == PaymentStatus::kApproved || row.status == PaymentStatus::kPending;
}

// Returns whether the bank stopped the payment for its risk score.
inline bool IsStopped(const Row& row) {
  return row.status == PaymentStatus::kBlocked ||
         (row.status == PaymentStatus::kDeclined && row.refusal == Refusal::kFraudSuspect);
}

// A ride under construction, before it is written to columns.

inline constexpr uint64_t kNoDriver = ~uint64_t{0};

struct RidePlace {
  Place place;
  uint16_t city = 0;  // index into lists::kCities
  RidePlaceKind kind = RidePlaceKind::kHome;
};

struct Ride {
  uint64_t number = 0;  // among all rides; determines the identifiers
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
  int64_t base = 0;     // cents, like all amounts
  int64_t surge = 100;  // hundredths
  int64_t discount = 0;
  int64_t fare = 0;
  int64_t pay = 0;
  int64_t fee = 0;
  int64_t tip = 0;
  int64_t temperature = 0;  // tenths of a degree
  RidePlace from;
  RidePlace to;
  uint32_t pair = 0;     // earlier rides of this pair in the month
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

}  // namespace reveza::fraudgen::coherent
