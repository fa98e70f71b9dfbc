// The rows of the classic table of rides. Immutable, so safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "datagen/batch.h"
#include "datagen/classic/batch_rows.h"
#include "datagen/classic/drivers.h"
#include "datagen/classic/world.h"
#include "datagen/lists/rides.h"

namespace reveza::datagen::classic {

// The columns of kRides, in their order.
enum class RideColumn : std::size_t {
  kRideId,
  kTimestamp,
  kApp,
  kCategory,
  kDriverId,
  kPassengerId,
  kPickupLatitude,
  kPickupLongitude,
  kPickupName,
  kPickupPoiType,
  kPickupCity,
  kPickupState,
  kDropoffLatitude,
  kDropoffLongitude,
  kDropoffName,
  kDropoffPoiType,
  kDropoffCity,
  kDropoffState,
  kRequestTime,
  kAcceptTime,
  kPickupTime,
  kDropoffTime,
  kDistance,
  kDuration,
  kWaitTime,
  kBaseFare,
  kSurge,
  kFinalFare,
  kDriverPay,
  kPlatformFee,
  kTip,
  kPaymentMethod,
  kStatus,
  kDriverRating,
  kPassengerRating,
  kCancellationReason,
  kWeather,
  kTemperature,
  kIsFraud,
  kFraudType,
};

class Rides {
 public:
  // Both must outlive it.
  Rides(const World& world, const Fleet& fleet);

  uint64_t fraud_key() const { return world_.Random(TableKey::kRides, 0).Bits(0); }

  // As many rows as the batch, which is of kRides and has begun, has.
  void Fill(const BatchRows& rows, Batch& batch) const;
  // When rows are that follow each other, as many as `times`.
  void DrawTimes(uint64_t first, std::span<int64_t> times) const;

 private:
  // Each a field of random numbers. What is drawn together shares the bits of one number.
  enum class Draw : uint32_t {
    kFrauds,  // of the table, not of a row
    kPassenger,
    kDayAndHour,
    kMoment,
    kApp,
    kDriver,
    kPlaces,
    kDetour,
    kSpeed,
    kTimes,
    kTip,
    kOutcome,
    kRatings,
    kReason,
    kRain,
    kTemperature,
    kCooling,
    kFraudType,
  };
  static constexpr std::size_t kDraws = static_cast<std::size_t>(Draw::kFraudType) + 1;

  // The hour is asked for again and again.
  struct Scratch {
    std::array<uint8_t, Batch::kMaxRows> state;
    std::array<uint8_t, Batch::kMaxRows> hour;
    std::array<uint8_t, Batch::kMaxRows> category;  // index into lists::kRideCategories
  };

  struct Moment {
    int64_t time;
    uint32_t hour;
  };

  const FieldRandom& Random(Draw draw) const { return draws_[static_cast<std::size_t>(draw)]; }
  void FillWho(const BatchRows& rows, Scratch& scratch, Batch& batch) const;
  void FillTime(const BatchRows& rows, Scratch& scratch, Batch& batch) const;
  void FillWeather(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  void FillPlaces(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  void FillOutcome(const BatchRows& rows, Batch& batch) const;
  void FillFare(const BatchRows& rows, const Scratch& scratch, Batch& batch) const;
  Moment MomentOf(uint64_t row) const;
  int64_t SpeedOf(uint64_t row, uint32_t hour) const;

  const World& world_;
  const Fleet& fleet_;
  std::vector<FieldRandom> draws_;
  // Metres from each place to each other of its state; places and states as in lists.
  std::vector<std::array<int32_t, 8>> metres_;
  WeightedChoice hours_;
  WeightedChoice apps_;
  WeightedChoice dry_weathers_;
  WeightedChoice wet_weathers_;
  WeightedChoice statuses_;
  WeightedChoice payments_;
  WeightedChoice driver_ratings_;
  WeightedChoice passenger_ratings_;
  WeightedChoice fraud_types_;
};

// Metres between two places, in millionths of a degree, on a map that is flat around the first;
// less than one in a thousand wrong within a city.
int64_t MetresBetween(int64_t latitude, int64_t longitude, int64_t other_latitude,
                      int64_t other_longitude);

}  // namespace reveza::datagen::classic
