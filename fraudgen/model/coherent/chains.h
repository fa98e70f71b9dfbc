// Mule chains: victims and the accounts through which stolen money moves. Functions of (seed,
// block, stratum), so blocks that share a chain agree on it without communication. Immutable and
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fraudgen/model/coherent/world.h"

namespace reveza::fraudgen::coherent {

enum class AccountRole : uint8_t { kHonest, kMule, kSynthetic };

// The mules and the synthetic identities among a block's customers. All of them opened their
// account before the period of the data.
class Mules {
 public:
  Mules(const World& world, uint64_t block);

  uint64_t mules() const { return mules_; }
  uint64_t synthetic() const { return synthetic_; }
  // Return block-local customer numbers, from 0. `index` is below the respective count.
  uint64_t Mule(uint64_t index) const { return At(index); }
  uint64_t Synthetic(uint64_t index) const { return At(mules_ + index); }
  bool Has(uint64_t local) const { return RoleOf(local) != AccountRole::kHonest; }
  AccountRole RoleOf(uint64_t local) const;

 private:
  uint64_t At(uint64_t index) const;

  const World* world_;
  uint64_t first_;
  Permutation order_;
  uint64_t mules_ = 0;
  uint64_t synthetic_ = 0;
};

struct ChainId {
  uint64_t block = 0;
  uint64_t stratum = 0;
};

inline constexpr uint32_t kMaxVictimRows = 3;
inline constexpr uint32_t kMaxHops = 6;

// One payment of a chain.
struct ChainStep {
  int64_t time = 0;
  int64_t amount = 0;
};

struct Chain {
  uint8_t scenario = 0;
  uint64_t victim = 0;  // customer number
  uint32_t victim_rows = 0;
  uint32_t hops = 0;
  std::array<ChainStep, kMaxVictimRows> victim_payments;
  std::array<ChainStep, kMaxHops> transfers;
  std::array<uint64_t, kMaxHops> mules;  // customer numbers

  int64_t Stolen() const {
    int64_t sum = 0;
    for (uint32_t i = 0; i < victim_rows; ++i) sum += victim_payments[i].amount;
    return sum;
  }
};

class Chains {
 public:
  explicit Chains(const World& world);

  // The number of chains that start in each block.
  uint64_t PerBlock() const { return per_block_; }
  Chain At(ChainId id) const;
  uint32_t HopsOf(ChainId id) const;
  // Returns the index of a mule of any block that takes part in chains at this time; requires
  // ActiveMules().
  uint64_t MuleAt(int64_t time) const;

  // Returns the chain whose hop number `hop` lands in `block` in this stratum.
  ChainId Landing(uint64_t block, uint64_t stratum, uint32_t hop) const;
  // Returns the index of the block's mule that makes the hop.
  uint64_t MuleIndex(uint64_t stratum, uint32_t hop) const;
  // The number of a block's mules that take part in chains, those with the lowest indices.
  uint64_t ActiveMules() const { return active_mules_; }
  // The period during which the mule at this index in its block takes part in chains.
  int64_t ActiveFrom(uint64_t mule_index) const;
  int64_t ActiveUntil(uint64_t mule_index) const;
  // Returns the ring of a mule; neighbouring mules form a ring.
  uint64_t RingOf(uint64_t mule_index) const {
    return mule_index / world_->parameters().chains.mules_of_a_ring;
  }

 private:
  Permutation Places(uint64_t stratum, uint32_t hop) const;
  uint64_t Key(ChainId id) const;
  int64_t StratumBegin(uint64_t stratum) const;
  uint64_t VictimOf(ChainId id, int64_t day, Draws& draws) const;
  uint8_t ScenarioOf(ChainId id, Draws& draws) const;
  void Pay(Chain& chain, int64_t day, Draws& draws) const;
  void AddTransfers(Chain& chain, Draws& draws) const;

  const World* world_;
  uint64_t per_block_ = 0;
  uint64_t strata_of_period_ = 1;  // consecutive strata that use the same mules
  uint64_t mules_of_period_ = 1;   // for each hop
  uint64_t active_mules_ = 0;
  int64_t span_ = 0;
  std::vector<uint32_t> types_;  // the scenarios that start chains
  WeightedChoice type_choice_;
};

// Moves a time at night, when a limit would block the transfer, to the next morning.
int64_t ByDay(int64_t time);
// Draws the amount of a payment to a friend.
int64_t ModestAmount(const World& world, const Person& person, Draws& draws);
// Draws the amount of a theft: a part of the income, or from the scenario's range.
int64_t StolenAmount(const Scenario& scenario, const Person& person, Draws& draws);

// Accepts or rejects a victim candidate by the profile's susceptibility.
bool Susceptible(const World& world, Profile profile, Draws& draws);

// Selects the compromised accounts of a block and when. A few bear most frauds, each for some days
// or weeks and never again, so neither the customer nor an old fraud predicts much. A function of
// (seed, block). Immutable and thread-safe.

// The period during which an account is compromised.
struct Burst {
  uint64_t local = 0;  // index of the customer in the block
  int64_t from = 0;    // the account is open
  int64_t until = 0;   // exclusive
  // Its duration, with what is not in the period of the data, and the part that is.
  int64_t whole = 1;
  int64_t overlap = 1;
};

class Victims {
 public:
  // `mules` are those of the same block; they are excluded.
  Victims(const World& world, const Mules& mules, uint64_t block);

  // Draws a burst, mostly of a heavily affected account. A positive `drift_thousandths` favours
  // late ones, a negative one early ones.
  Burst Any(int32_t drift_thousandths, Draws& draws) const;
  // Draws a burst that covers [from, until), among customers with an account throughout the data.
  std::optional<Burst> Covering(int64_t from, int64_t until, Draws& draws) const;

 private:
  // Heavily or lightly affected accounts; their bursts are spread over the period.
  struct Tier {
    uint64_t first = 0;
    uint64_t bursts = 0;
  };

  const Tier& AnyTier(Draws& draws) const;
  Burst AnyWhole(int32_t drift_thousandths, Draws& draws) const;
  // Returns how far the middle of a burst may be from the period.
  int64_t Margin() const;
  Burst At(const Tier& tier, uint64_t index) const;
  uint64_t Candidate(uint64_t group, uint64_t index) const;

  const World* world_;
  const Mules* mules_;
  uint64_t block_;
  uint64_t customers_;
  uint64_t candidates_ = 1;  // for each burst
  uint64_t groups_ = 1;      // of candidates_ customers each
  Permutation order_;
  Tier few_;
  Tier others_;
};

}  // namespace reveza::fraudgen::coherent
