// State shared by the tables of the classic model: the customers' traits and the reference days.
// Immutable and thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/profiles.h"
#include "fraudgen/model/blocks.h"
#include "fraudgen/model/classic/draws.h"
#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/cpf.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::classic {

enum class Kind { kTransactions, kRides, kAll };

struct Options {
  // Leaves CPF numbers for the drivers.
  static constexpr uint64_t kMaxCustomers = 80'000'000;

  Kind kind = Kind::kTransactions;
  uint64_t seed = 0;
  uint64_t transactions = 0;  // rows; ignored if the kind excludes them
  uint64_t rides = 0;
  std::optional<uint64_t> customers;  // default: the original's ratio to the rows
  Share frauds{.billionths = 20'000'000};
  CivilDate start;  // first and last day of transactions and rides
  CivilDate end;
  CivilDate as_of;  // reference day for ages and expiry dates, in place of a clock
  bool profiles = true;
  Identities identities = Identities::kValid;
  uint64_t rows_per_block = uint64_t{1} << 21;  // of the larger table
};

// The traits that determine the rest of a customer.
struct Traits {
  uint32_t state = 0;    // index into lists::kStates
  uint32_t profile = 0;  // index into lists::Profiles(), or kNoProfile
  uint32_t devices = 0;  // 1 to kMaxDevices
};

// A device: a customer and an index below the customer's number of devices.
struct Owner {
  uint64_t customer = 0;
  Traits traits;
  uint32_t device = 0;
};

// Assigns drivers to states. A permutation makes the drivers of a state adjacent, so that one can
// be drawn in constant time.
class Fleet {
 public:
  Fleet(uint64_t key, uint64_t drivers);

  // Returns the driver's state, an index into lists::kStates.
  uint32_t StateOf(uint64_t driver) const;
  // Returns a random driver of the state, or of any state if it has none.
  uint64_t DriverIn(uint32_t state, uint64_t bits) const;

 private:
  Permutation order_;
  std::array<uint64_t, lists::kStates.size() + 1> first_{};  // place of each state's first driver
};

class World {
 public:
  static constexpr uint64_t kMaxDevices = 3;
  static constexpr uint32_t kNoProfile = 6;  // follows the profiles in tables indexed by profile
  static constexpr uint32_t kProfileRows = 7;

  // `options` must have been validated by ClassicModel.
  World(const Options& options, uint64_t customers, uint64_t drivers);

  uint64_t seed() const { return seed_; }
  uint64_t customers() const { return customers_; }
  const Fleet& fleet() const { return fleet_; }
  bool profiles() const { return profiles_; }
  Identities identities() const { return identities_; }
  int64_t first_day() const { return first_day_; }
  uint64_t days() const { return days_; }  // including the last
  CivilDate as_of() const { return as_of_; }
  int64_t as_of_day() const { return as_of_day_; }

  Traits TraitsOf(uint64_t customer) const { return TraitsFrom(traits_.Bits(customer)); }

  // Draws a device for each row, uniformly over all devices of all customers, by rejection sampling
  // on the customer's number of devices. `random` is the field to draw from; `owners` has an entry
  // for each row, at most Batch::kMaxRows.
  void DrawOwners(const FieldRandom& random, const BatchRows& rows, std::span<Owner> owners) const;

  struct Moment {
    int64_t time;
    uint32_t hour;
  };
  // Returns a time in the period: the day from the upper half of `day_bits`, the hour from its
  // lower half, the rest from `moment_bits`.
  Moment MomentOf(const WeightedChoice& hours, uint64_t day_bits, uint64_t moment_bits) const {
    const auto day = static_cast<int64_t>(UpperProduct(day_bits, days_));
    const uint32_t hour = hours.Of(LowerHalf(day_bits));
    const uint64_t moment = UpperProduct(moment_bits, kMicrosecondsPerHour);
    return {.time = (first_day_ + day) * kMicrosecondsPerDay +
                    static_cast<int64_t>(hour * kMicrosecondsPerHour + moment),
            .hour = hour};
  }

  // Returns the number in a device's identifier, from 1; unique but not contiguous.
  static uint64_t DeviceNumber(uint64_t customer, uint64_t device) {
    return customer * kMaxDevices + device + 1;
  }

 private:
  static constexpr int kStateBits = 24;
  static constexpr int kProfileBits = 20;
  struct DeviceCount {
    uint32_t min = 1;
    uint32_t range = 3;
  };

  // Decodes a customer's random bits.
  Traits TraitsFrom(uint64_t bits) const {
    Traits traits;
    traits.state = states_.Of(bits);
    traits.profile = profiles_ ? profile_choice_.Of(bits << kStateBits) : kNoProfile;
    const DeviceCount& count = device_counts_[traits.profile];
    traits.devices = count.min + static_cast<uint32_t>(UpperProduct(
                                     bits << (kStateBits + kProfileBits), count.range));
    return traits;
  }

  uint64_t seed_;
  uint64_t customers_;
  bool profiles_;
  Identities identities_;
  int64_t first_day_;
  uint64_t days_;
  CivilDate as_of_;
  int64_t as_of_day_;
  FieldRandom traits_;
  Fleet fleet_;
  WeightedChoice states_;
  WeightedChoice profile_choice_;
  std::array<DeviceCount, kProfileRows> device_counts_;
};

}  // namespace reveza::fraudgen::classic
