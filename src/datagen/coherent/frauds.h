// All frauds of a block, planned before its rows are made: exactly as many as it must have. Not
// safe from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/coherent/calendar.h"
#include "datagen/coherent/chains.h"
#include "datagen/coherent/row.h"
#include "datagen/coherent/victims.h"

namespace reveza::datagen::coherent {

// One row of a fraud that will be made. Those of all the data are in memory at once, so it is
// small.
struct FraudPlan {
  static constexpr uint32_t kNoThief = ~uint32_t{0};
  static constexpr uint32_t kNoLink = ~uint32_t{0};
  static constexpr uint8_t kNoShop = 255;

  int64_t time = 0;
  int64_t amount = 0;
  AccountNumber receiver = kNoAccount;
  uint64_t key = 0;              // of what is still to be drawn
  uint32_t customer = 0;         // the place in the block
  uint32_t thief = kNoThief;     // the index in the block of a thief's or a ring's device
  uint32_t link = kNoLink;       // of a chain; FraudPlanner knows it
  uint8_t false_shop = kNoShop;  // of the block, where all of an episode buy
  Kind kind = Kind::kPix;
  FraudType type = FraudType::kSocialEngineering;
  FraudRole role = FraudRole::kVictim;

  bool HasDevice() const { return thief != kNoThief; }
  // A chain exists only because it gets through.
  bool IsCertain() const { return link != kNoLink; }
};

// What a row of a chain has besides.
struct ChainLink {
  uint64_t ring = 0;   // the number of the chain
  int64_t credit = 0;  // what reached the account just before
  uint8_t hop = 0;     // 0 is the victim
};

class FraudPlanner {
 public:
  FraudPlanner(const World& world, const Chains& chains, uint64_t block);

  // In order of time.
  std::vector<FraudPlan> Plan();
  // Of a plan that is certain.
  const ChainLink& LinkOf(const FraudPlan& plan) const { return links_[plan.link]; }

  const Mules& mules() const { return mules_; }
  uint64_t BusyMules() const { return chains_->BusyMules(); }
  uint64_t RingNumber(uint64_t mule_index) const;
  uint32_t RingDevice(uint64_t mule_index, uint64_t bits) const;

 private:
  void PlanOwnChains();
  void PlanLandingHops();
  void PlanHop(ChainId id, const Chain& chain, uint32_t hop);
  void PlanKinds();
  void PlanEpisode(FraudType type, uint64_t rows, uint64_t number);
  Burst VictimOf(FraudType type, Draws& draws) const;
  int64_t FirstTime(const Typology& typology, Profile profile, int64_t from, int64_t until,
                    Draws& draws) const;
  AccountNumber ThiefAccount(int64_t time, uint64_t bits) const;
  uint32_t Add(const ChainLink& link);
  uint64_t Local(uint64_t customer) const { return customer - first_customer_; }

  const World* world_;
  const Chains* chains_;
  uint64_t block_;
  uint64_t first_customer_;
  uint64_t customers_;
  Mules mules_;
  Victims victims_;
  std::vector<FraudPlan> plans_;
  std::vector<ChainLink> links_;
};

}  // namespace reveza::datagen::coherent
