// One payment while it is made, before it is written into columns.
#pragma once

#include <cstdint>

#include "datagen/coherent/world.h"

namespace reveza::datagen::coherent {

struct Row {
  uint64_t number = 0;   // of all rows, which the identifiers are made from
  uint64_t session = 0;  // the number of its first row
  uint64_t customer = 0;
  int64_t time = 0;
  int64_t amount = 0;
  int64_t balance = 0;
  int64_t accumulated = 0;
  int64_t reported_at = kNever;
  DeviceNumber device = kNoDevice;
  AccountNumber receiver = kNoAccount;
  int64_t distance = -1;  // hundredths of a kilometre; -1: not known
  int64_t minutes = -1;
  MerchantNumber merchant = 0;
  Place place;
  uint32_t ip = 0;
  uint32_t count = 0;   // of the 24 hours before
  int32_t score = 0;    // hundredths
  int8_t contact = -1;  // which of the customer's contacts the receiver is
  uint8_t installments = 1;
  uint8_t brand = 0;
  Kind kind = Kind::kPix;
  Channel channel = Channel::kMobileApp;
  CardEntry entry = CardEntry::kChip;
  PaymentStatus status = PaymentStatus::kApproved;
  Refusal refusal = Refusal::kInsufficientBalance;
  AlertRule rule = AlertRule::kHighAmount;
  FraudType fraud_type = FraudType::kSocialEngineering;
  FraudRole fraud_role = FraudRole::kVictim;
  bool has_place = false;
  bool has_ip = false;
  bool has_merchant = false;
  bool receiver_is_shop = false;
  bool cvv_validated = false;
  bool auth_3ds = false;
  bool unusual_time = false;
  bool new_beneficiary = false;
  bool stranger = false;  // an account that nobody pays twice
  bool is_fraud = false;
  bool alert = false;
  uint64_t card = 0;
};

constexpr bool IsCard(Kind kind) { return kind == Kind::kCreditCard || kind == Kind::kDebitCard; }
constexpr bool HasReceiver(Kind kind) { return kind == Kind::kPix || kind == Kind::kTed; }
// Online: the card's number is typed in.
inline bool IsTyped(const Row& row) { return IsCard(row.kind) & (row.entry == CardEntry::kManual); }
// It moved money, or will.
inline bool IsPaid(const Row& row) {
  return row.status == PaymentStatus::kApproved || row.status == PaymentStatus::kPending;
}

}  // namespace reveza::datagen::coherent
