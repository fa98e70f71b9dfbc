// Whose accounts of a block are compromised, and when. Few bear most of the frauds, each for some
// days or weeks and then not again, so neither who somebody is nor that there was a fraud long ago
// tells much. A function of (seed, block). Immutable, so safe from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "datagen/coherent/chains.h"
#include "datagen/coherent/world.h"

namespace reveza::datagen::coherent {

// The time for which an account is compromised.
struct Burst {
  uint64_t local = 0;  // the place of the customer in the block
  int64_t from = 0;    // there is an account from here
  int64_t until = 0;   // to here, exclusively
};

class Victims {
 public:
  // `mules` of the same block, which are not struck.
  Victims(const World& world, const Mules& mules, uint64_t block);

  // Mostly one of the few. `drift_thousandths` above 0: rather a late one, below: an early one.
  Burst Any(int32_t drift_thousandths, Draws& draws) const;
  // One that covers all of this time; who has no account for all of the data is left out.
  std::optional<Burst> Covering(int64_t from, int64_t until, Draws& draws) const;

 private:
  // Those struck hard, or those struck now and then: their bursts follow each other through the
  // data.
  struct Tier {
    uint64_t first = 0;
    uint64_t bursts = 0;
  };

  const Tier& AnyTier(Draws& draws) const;
  Burst At(const Tier& tier, uint64_t index) const;
  uint64_t Candidate(uint64_t group, uint64_t index) const;

  const World* world_;
  const Mules* mules_;
  uint64_t block_;
  uint64_t customers_;
  uint64_t candidates_ = 1;  // for each burst
  uint64_t groups_ = 1;      // of so many candidates in the block
  Permutation order_;
  Tier few_;
  Tier others_;
};

}  // namespace reveza::datagen::coherent
