// Plans all frauds of a block before its rows are generated, exactly as many as required. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/chains.h"
#include "fraudgen/model/coherent/honest.h"
#include "fraudgen/model/coherent/row.h"

namespace reveza::fraudgen::coherent {

// One row of a planned fraud. Kept small, because the plans of the whole period are in memory.
struct FraudPlan {
  static constexpr uint32_t kNoFraudster = ~uint32_t{0};
  static constexpr uint32_t kNoLink = ~uint32_t{0};
  static constexpr uint8_t kNoShop = 255;
  static constexpr uint64_t kEpisodesOfDevice = 2;

  int64_t time = 0;
  int64_t amount = 0;
  AccountNumber receiver = kNoAccount;
  uint64_t key = 0;                   // seeds what is drawn later
  uint32_t customer = 0;              // index in the block
  uint32_t fraudster = kNoFraudster;  // block index of a fraudster's or a ring's device
  uint32_t link = kNoLink;            // if its money moves on; see FraudPlanner::LinkOf
  uint8_t false_shop = kNoShop;       // of the block, used by all rows of an episode
  Kind kind = Kind::kPix;
  uint8_t scenario = 0;
  FraudRole role = FraudRole::kVictim;

  bool HasDevice() const { return fraudster != kNoFraudster; }
  // Payments whose money moves on are always approved.
  bool IsCertain() const { return link != kNoLink; }
};

// Additional data of a row whose money moves on.
struct ChainLink {
  uint64_t ring = 0;   // the number of the chain or episode
  int64_t credit = 0;  // credited to the account just before
  uint8_t hop = 0;     // 0 is the victim
  RingPattern pattern = RingPattern::kMuleChain;
};

// What a mule of the block receives from a customer of another block.
struct Arrival {
  int64_t time = 0;
  int64_t amount = 0;
  uint64_t payer = 0;     // customer number
  uint64_t ring = 0;      // see ChainLink
  uint32_t customer = 0;  // index in the block
};

class FraudPlanner {
 public:
  FraudPlanner(const World& world, const Chains& chains, uint64_t block);

  // Returns the plans in time order. Sets `arrivals`, in time order, too, unless it is null.
  std::vector<FraudPlan> Plan(std::vector<Arrival>* arrivals = nullptr);
  // `plan` must be certain.
  const ChainLink& LinkOf(const FraudPlan& plan) const { return links_[plan.link]; }

  const Mules& mules() const { return mules_; }
  uint64_t ActiveMules() const { return chains_->ActiveMules(); }
  uint64_t RingNumber(uint64_t mule_index) const;
  uint32_t RingDevice(uint64_t mule_index, uint64_t bits) const;

 private:
  // The payments of one scenario that belong together.
  struct Episode {
    const Scenario* scenario = nullptr;
    uint8_t index = 0;  // of the scenario
    uint64_t number = 0;
    uint64_t account_bits = 0;
    uint64_t shop = 0;
    std::vector<FraudPlan> plans = {};
  };
  struct Mule {
    uint32_t local = 0;
    uint64_t index = 0;  // of the block's mules
  };
  // What an account holds of an episode's money.
  struct Holding {
    int64_t amount = 0;
    int64_t credit = 0;  // of it, what was not credited yet
    int64_t since = 0;
  };
  using Holdings = std::map<uint32_t, Holding>;  // by local customer number

  void PlanOwnChains();
  void PlanLandingHops(std::vector<Arrival>* arrivals);
  void PlanHop(ChainId id, const Chain& chain, uint32_t hop);
  void AddArrivals(uint64_t ring, const Chain& chain, uint32_t hop,
                   std::vector<Arrival>& arrivals) const;
  void PlanScenarios();
  // Plans an episode of at most `rows` rows, and returns how many.
  uint64_t PlanEpisode(uint8_t scenario, uint64_t rows, uint64_t number);
  void PlanPayments(const Burst& burst, int64_t time, Draws& draws, Episode& episode) const;
  // Adds how the money of an episode's payments moves on.
  void PlanMoves(Draws& draws, Episode& episode);
  std::vector<std::vector<Mule>> ChooseMules(const Episode& episode, Draws& draws) const;
  void PassOn(const Move& move, const Mule& from, std::span<const Mule> to, uint8_t hop,
              Draws& draws, Holdings& holdings, Episode& episode);
  void AddTransfer(const Mule& from, const Mule* to, const ChainLink& link, int64_t time,
                   int64_t amount, Draws& draws, Episode& episode);
  // Makes the plan one by which money leaves the bank.
  void CashOut(uint64_t mule_index, FraudPlan& plan) const;
  Burst VictimOf(const Scenario& scenario, Draws& draws) const;
  Burst OtherVictim(const Scenario& scenario, const Burst& first, int64_t time, Draws& draws) const;
  int64_t FirstTime(const Scenario& scenario, Profile profile, int64_t from, int64_t until,
                    Draws& draws) const;
  AccountNumber FraudsterAccount(int64_t time, uint64_t bits) const;
  uint32_t Add(const ChainLink& link);
  uint64_t NextKey() const;  // of a payment of a chain
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

// Generates the rows of planned frauds: an honest row of the customer with the traits that the
// fraudster does not conceal. Immutable and thread-safe.
class FraudBehaviour {
 public:
  FraudBehaviour(const World& world, const HonestBehaviour& honest)
      : world_(&world), honest_(&honest) {}

  // Fills `row`, whose time and number are set. The customer's balance and devices must be current.
  void Pay(const CustomerState& customer, const FraudPlan& plan, uint64_t block, Row& row) const;
  // Returns when the fraud was reported, or kNever.
  int64_t ReportedAt(const Row& row) const;
  // Returns the address of a fraudster's line, which changes daily, or the mobile network's.
  uint32_t FraudsterAddress(uint64_t fraudster, int64_t time) const;

 private:
  void BuyGoods(const CustomerState& customer, const FraudPlan& plan, uint64_t block,
                const Scenario& scenario, Draws& draws, Row& row) const;
  // Sets the shop that all victims of an episode pay.
  void PayFalseShop(const FraudPlan& plan, uint64_t block, Row& row) const;
  void UseFraudsterDevice(DeviceNumber device, const Scenario& scenario, Row& row) const;
  int64_t FitAmount(const Row& row, int64_t amount, Draws& draws) const;
  void BuyByQrCode(const CustomerState& customer, const FraudPlan& plan, Draws& draws,
                   Row& row) const;
  uint32_t FraudsterCity(uint64_t fraudster) const;
  Place FraudsterPlace(uint64_t fraudster, int64_t time) const;

  const World* world_;
  const HonestBehaviour* honest_;
};

}  // namespace reveza::fraudgen::coherent
