// What all tables of the classic model share: who the customers are, and the days that count.
// Immutable, so safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "datagen/classic/batch_rows.h"
#include "datagen/classic/options.h"
#include "datagen/lists/profiles.h"
#include "datagen/random.h"

namespace reveza::datagen::classic {

// A number for each table, which is a part of the key of its random numbers.
enum class TableKey : uint32_t { kCustomers = 1, kDevices, kTransactions, kDrivers, kRides };

// What decides about the rest of a customer.
struct Traits {
  uint32_t state = 0;    // index into lists::kStates
  uint32_t profile = 0;  // index into lists::Profiles(), or kNoProfile
  uint32_t devices = 0;  // 1 to kMostDevices
};

// A device is a customer and a number below the count of his devices.
struct Owner {
  uint64_t customer = 0;
  Traits traits;
  uint32_t device = 0;
};

class World {
 public:
  static constexpr uint64_t kMostDevices = 3;
  static constexpr uint32_t kNoProfile = 6;  // after the profiles, so that tables have a row for it
  static constexpr uint32_t kProfileRows = 7;

  // `options` as ClassicModel has made sure of them.
  World(const Options& options, uint64_t customers, uint64_t drivers);

  uint64_t seed() const { return seed_; }
  uint64_t customers() const { return customers_; }
  uint64_t drivers() const { return drivers_; }
  bool profiles() const { return profiles_; }
  Identities identities() const { return identities_; }
  int64_t first_day() const { return first_day_; }
  uint64_t days() const { return days_; }  // the last one, too
  CivilDate as_of() const { return as_of_; }
  int64_t as_of_day() const { return as_of_day_; }

  FieldRandom Random(TableKey table, uint32_t field) const {
    return FieldRandom(seed_, static_cast<uint32_t>(table), field);
  }

  Traits TraitsOf(uint64_t customer) const { return TraitsFrom(traits_.Bits(customer)); }

  // Of each of the rows, which are as many as `owners`: one of all devices of all customers,
  // uniform. Draws again where the customer that was drawn does not have so many devices. `random`:
  // the field that they are drawn for. No more than a batch has rows.
  void DrawOwners(const FieldRandom& random, const BatchRows& rows, std::span<Owner> owners) const;

  // The number in the identifier of a device, unique and from 1; not every number is given.
  static uint64_t DeviceNumber(uint64_t customer, uint64_t device) {
    return customer * kMostDevices + device + 1;
  }

 private:
  static constexpr int kStateBits = 24;
  static constexpr int kProfileBits = 20;
  struct DeviceCount {
    uint32_t least = 1;
    uint32_t range = 3;
  };

  // What these random bits of a customer stand for.
  Traits TraitsFrom(uint64_t bits) const {
    Traits traits;
    traits.state = states_.Of(bits);
    traits.profile = profiles_ ? profile_choice_.Of(bits << kStateBits) : kNoProfile;
    const DeviceCount& count = device_counts_[traits.profile];
    traits.devices = count.least + static_cast<uint32_t>(UpperProduct(
                                       bits << (kStateBits + kProfileBits), count.range));
    return traits;
  }

  uint64_t seed_;
  uint64_t customers_;
  uint64_t drivers_;
  bool profiles_;
  Identities identities_;
  int64_t first_day_;
  uint64_t days_;
  CivilDate as_of_;
  int64_t as_of_day_;
  FieldRandom traits_;
  WeightedChoice states_;
  WeightedChoice profile_choice_;
  std::array<DeviceCount, kProfileRows> device_counts_;
};

// The choice of each profile, and in the end the one for customers without.
std::vector<WeightedChoice> ChoicesOfProfiles(
    const std::array<std::vector<uint32_t>, World::kProfileRows>& weights);

}  // namespace reveza::datagen::classic
