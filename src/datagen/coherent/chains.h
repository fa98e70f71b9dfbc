// Mule chains: who is robbed, and over which accounts the money runs. Functions of (seed, block,
// stratum), so blocks that share a chain agree on it without talking. Immutable, so safe from any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "datagen/coherent/world.h"

namespace reveza::datagen::coherent {

enum class AccountRole : uint8_t { kHonest, kMule, kInvented };

// A part of a block's customers: those that carry stolen money, then those that a ring invented.
// All of them had their account before the data begin.
class Mules {
 public:
  Mules(const World& world, uint64_t block);

  uint64_t mules() const { return mules_; }
  uint64_t invented() const { return invented_; }
  // Local numbers, from 0 in each block. `index` is below the count.
  uint64_t Mule(uint64_t index) const { return At(index); }
  uint64_t Invented(uint64_t index) const { return At(mules_ + index); }
  bool Has(uint64_t local) const { return RoleOf(local) != AccountRole::kHonest; }
  AccountRole RoleOf(uint64_t local) const;

 private:
  uint64_t At(uint64_t index) const;

  const World* world_;
  uint64_t first_;
  Permutation order_;
  uint64_t mules_ = 0;
  uint64_t invented_ = 0;
};

struct ChainId {
  uint64_t block = 0;
  uint64_t stratum = 0;
};

inline constexpr uint32_t kMostVictimRows = 3;
inline constexpr uint32_t kMostHops = 6;

// One payment of a chain: the victim's ones come first.
struct ChainStep {
  int64_t time = 0;
  int64_t amount = 0;
};

struct Chain {
  FraudType type = FraudType::kSocialEngineering;
  uint64_t victim = 0;  // the number of the customer
  uint32_t victim_rows = 0;
  uint32_t hops = 0;
  std::array<ChainStep, kMostVictimRows> paid;
  std::array<ChainStep, kMostHops> passed_on;
  std::array<uint64_t, kMostHops> mules;  // numbers of customers

  int64_t Stolen() const {
    int64_t sum = 0;
    for (uint32_t i = 0; i < victim_rows; ++i) sum += paid[i].amount;
    return sum;
  }
};

class Chains {
 public:
  explicit Chains(const World& world);

  // How many chains each block starts.
  uint64_t OfBlock() const { return of_block_; }
  Chain At(ChainId id) const;
  uint32_t HopsOf(ChainId id) const;

  // The chain whose hop of this number lands in `block` at this stratum.
  ChainId Landing(uint64_t block, uint64_t stratum, uint32_t hop) const;
  // Which of a block's mules does the hop.
  uint64_t MuleIndex(uint64_t stratum, uint32_t hop) const;
  // So many mules of a block have chains, those with the lowest indices.
  uint64_t BusyMules() const { return busy_mules_; }
  // When the mule with this index in its block is busy.
  int64_t BusyFrom(uint64_t mule_index) const;
  int64_t BusyUntil(uint64_t mule_index) const;
  // Mules with this many neighbours in the list form a ring.
  uint64_t RingOf(uint64_t mule_index) const {
    return mule_index / world_->parameters().chains.mules_of_a_ring;
  }

 private:
  Permutation Places(uint64_t stratum, uint32_t hop) const;
  uint64_t Key(ChainId id) const;
  int64_t StratumBegin(uint64_t stratum) const;
  uint64_t VictimOf(ChainId id, int64_t day, Draws& draws) const;
  FraudType TypeOf(ChainId id, Draws& draws) const;
  void Pay(Chain& chain, int64_t day, Draws& draws) const;
  void PassOn(Chain& chain, Draws& draws) const;

  const World* world_;
  uint64_t of_block_ = 0;
  uint64_t strata_of_period_ = 1;  // for which the same mules work
  uint64_t mules_of_period_ = 1;   // for each hop
  uint64_t busy_mules_ = 0;
  int64_t span_ = 0;
  std::vector<uint32_t> types_;
  WeightedChoice type_choice_;
};

// An amount that a thief takes: a part of the income or from the range of the kind of fraud.
int64_t StolenAmount(const Typology& typology, const Person& person, Draws& draws);

// Whether somebody of this profile is robbed rather than somebody else.
bool Susceptible(const World& world, Profile profile, Draws& draws);

}  // namespace reveza::datagen::coherent
