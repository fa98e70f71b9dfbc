// Random numbers one after the other, from a key that says what they are for. Not safe from several
// threads; a copy goes its own way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "datagen/random.h"

namespace reveza::datagen::coherent {

class Draws {
 public:
  explicit constexpr Draws(uint64_t key) : state_(key) {}

  constexpr uint64_t Bits() {
    state_ += kStep;
    return Mix(state_);
  }
  // As if so many had been drawn.
  constexpr void Skip(uint64_t count) { state_ += count * kStep; }
  // Below `limit`, which is at least 1.
  constexpr uint64_t Below(uint64_t limit) { return UpperProduct(Bits(), limit); }
  // From `least` to `most`, both possible.
  constexpr int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(Below(static_cast<uint64_t>(most - least) + 1));
  }
  constexpr bool Chance(uint64_t millionths) { return Below(1'000'000) < millionths; }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  uint64_t state_;
};

// What a key is for.
enum class Purpose : uint32_t {
  kPerson,
  kContacts,
  kMonth,
  kTimes,
  kPayments,
  kChain,
  kChainPlaces,
  kMules,
  kFrauds,
  kFraudPayments,
  kMerchant,
  kDevice,
  kAccount,
  kCustomerIds,
  kAccountIds,
  kTransactionIds,
  kSessionIds,
  kDeviceIds,
  kMerchantIds,
  kRingIds,
  kCpf,
  kAftermath,
  kHousehold,
  kDriver,
  kDriverIds,
  kRide,
  kRideIds,
  kRideFrauds,
  kWeather,
  kLife,
  kVictims,
  kCnpj,
  kPhone,
  kEnd
};

// The keys of a seed. Immutable, so safe from any thread.
class Keys {
 public:
  explicit constexpr Keys(uint64_t seed)
      : Keys(seed, std::make_index_sequence<static_cast<std::size_t>(Purpose::kEnd)>()) {}

  // `row` is below 2^48.
  constexpr uint64_t Of(Purpose purpose, uint64_t row, uint16_t draw = 0) const {
    return fields_[static_cast<std::size_t>(purpose)].Bits(row, draw);
  }

 private:
  static constexpr uint32_t kTable = 64;  // the classic model has those below

  template <std::size_t... kFields>
  constexpr Keys(uint64_t seed, std::index_sequence<kFields...>)
      : fields_{FieldRandom(seed, kTable, static_cast<uint32_t>(kFields))...} {}

  std::array<FieldRandom, static_cast<std::size_t>(Purpose::kEnd)> fields_;
};

}  // namespace reveza::datagen::coherent
