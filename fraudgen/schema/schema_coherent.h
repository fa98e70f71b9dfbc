// The tables of the coherent model and the enumerations of their categories. Constant data.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen::coherent {

extern const Table kCustomers;
extern const Table kAccounts;
extern const Table kDevices;
extern const Table kTransactions;
extern const Table kSettlements;
extern const Table kAlerts;
extern const Table kDisputes;
extern const Table kChanges;
extern const Table kRings;
extern const Table kEntries;
extern const Table kDrivers;  // this and the next two only if rides are generated
extern const Table kRides;
extern const Table kRideAlerts;
// Returns these, in this order.
std::span<const Table* const> Tables();
extern const Table kSessions;  // only if asked for

// The enumerations of categories; an enumerator's value is the index of its name.
#include "generated/fraudgen/schema/tables/coherent/alerts_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/changes_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/customers_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/disputes_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/drivers_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/entries_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/ride_alerts_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/rides_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/rings_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/sessions_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/settlements_columns.inc"
#include "generated/fraudgen/schema/tables/coherent/transactions_columns.inc"

constexpr std::size_t At(Kind kind) { return static_cast<std::size_t>(kind); }

// Merchant categories; two of them share a code.
inline constexpr std::array<std::string_view, 24> kMccCodes = {
    "5411", "5812", "5814", "5541", "5499", "4121", "5912", "4131", "4900", "5311", "5651", "4814",
    "7941", "6011", "5815", "8299", "5995", "8011", "5732", "5977", "5944", "7995", "7011", "4511"};

// In the order of lists::kRideStatusNames and lists::kRideFraudTypeNames.
enum class RideStatus : uint8_t {
  kCompleted,
  kCancelledByPassenger,
  kCancelledByDriver,
  kNoDriver
};
enum class RideFraudType : uint8_t {
  kGpsSpoofing,
  kPromoAbuse,
  kGhostRide,
  kSurgeAbuse,
  kMultiAccountDriver,
  kRatingFraud,
  kSplitFareFraud
};

}  // namespace reveza::fraudgen::coherent
