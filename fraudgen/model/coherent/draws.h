// A sequential random number generator, seeded by a key. Not thread-safe; a copy continues
// independently.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {

class Draws {
 public:
  explicit constexpr Draws(uint64_t key) : state_(key) {}

  constexpr uint64_t Bits() {
    state_ += kStep;
    return Mix(state_);
  }
  // Skips `count` draws.
  constexpr void Skip(uint64_t count) { state_ += count * kStep; }
  // Returns a number below `limit`, which is at least 1.
  constexpr uint64_t Below(uint64_t limit) { return UpperProduct(Bits(), limit); }
  // Returns a number in [min, max].
  constexpr int64_t Between(int64_t min, int64_t max) {
    return min + static_cast<int64_t>(Below(static_cast<uint64_t>(max - min) + 1));
  }
  template <typename Number>
  constexpr int64_t Between(const Range<Number>& range) {
    return Between(range.min, range.max);
  }
  constexpr bool Chance(uint64_t millionths) { return Below(1'000'000) < millionths; }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  uint64_t state_;
};

// The purpose of a key. The order is part of the output.
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
  kSettlements,
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
  kTown,
  kTies,
  kEntries,
  kSessions,
  kEnd
};

// The keys derived from a seed. Immutable and thread-safe.
class Keys {
 public:
  explicit constexpr Keys(uint64_t seed)
      : Keys(seed, std::make_index_sequence<static_cast<std::size_t>(Purpose::kEnd)>()) {}

  // `row` is below 2^48.
  constexpr uint64_t Of(Purpose purpose, uint64_t row, uint16_t draw = 0) const {
    return fields_[static_cast<std::size_t>(purpose)].Bits(row, draw);
  }

 private:
  static constexpr uint32_t kTable = 64;  // the classic model uses lower ones

  template <std::size_t... kFields>
  constexpr Keys(uint64_t seed, std::index_sequence<kFields...>)
      : fields_{FieldRandom(seed, kTable, static_cast<uint32_t>(kFields))...} {}

  std::array<FieldRandom, static_cast<std::size_t>(Purpose::kEnd)> fields_;
};

}  // namespace reveza::fraudgen::coherent
