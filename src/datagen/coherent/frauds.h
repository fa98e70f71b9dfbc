// All frauds of a block, planned before its rows are made: exactly as many as it must have. Not
// safe from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/coherent/calendar.h"
#include "datagen/coherent/chains.h"
#include "datagen/coherent/row.h"

namespace reveza::datagen::coherent {

inline constexpr uint64_t kNoRing = ~uint64_t{0};

// One row of a fraud that will be made.
struct FraudPlan {
  int64_t time = 0;
  int64_t amount = 0;
  int64_t credit = 0;  // what reached the account just before
  AccountNumber receiver = kNoAccount;
  DeviceNumber device = kNoDevice;  // of a thief or a ring
  uint64_t key = 0;                 // of what is still to be drawn
  uint64_t ring = kNoRing;          // the number of its chain
  uint32_t customer = 0;            // the place in the block
  MerchantNumber merchant = 0;      // where all of an episode buy
  bool has_merchant = false;
  bool certain = false;  // of a chain, which exists only because it gets through
  uint8_t hop = 0;       // in the chain; 0 is the victim
  Kind kind = Kind::kPix;
  FraudType type = FraudType::kSocialEngineering;
  FraudRole role = FraudRole::kVictim;
};

class FraudPlanner {
 public:
  FraudPlanner(const World& world, const Chains& chains, uint64_t block);

  // In order of time.
  std::vector<FraudPlan> Plan();

  const Mules& mules() const { return mules_; }
  uint64_t BusyMules() const { return chains_->BusyMules(); }
  uint64_t RingNumber(uint64_t mule_index) const;
  DeviceNumber RingDevice(uint64_t mule_index, uint64_t bits) const;

 private:
  void PlanOwnChains();
  void PlanLandingHops();
  void PlanHop(ChainId id, const Chain& chain, uint32_t hop);
  void PlanKinds();
  void PlanEpisode(FraudType type, uint64_t rows, uint64_t number);
  uint32_t Victim(FraudType type, Draws& draws, int64_t& from, int64_t& until) const;
  int64_t FirstTime(const Typology& typology, Profile profile, int64_t from, int64_t until,
                    Draws& draws) const;
  AccountNumber ThiefAccount(int64_t time, uint64_t bits) const;
  uint64_t Local(uint64_t customer) const { return customer - first_customer_; }

  const World* world_;
  const Chains* chains_;
  uint64_t block_;
  uint64_t first_customer_;
  uint64_t customers_;
  Mules mules_;
  std::vector<FraudPlan> plans_;
};

}  // namespace reveza::datagen::coherent
