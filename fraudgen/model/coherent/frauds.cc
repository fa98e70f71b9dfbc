#include "fraudgen/model/coherent/frauds.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/honest.h"

namespace reveza::fraudgen::coherent {
namespace {

// How long a fraudster uses an account.
constexpr int64_t kFraudsterAccountLife = 9 * kDay;
// Offset of the rings' accounts among the fraudsters' accounts of a block.
constexpr uint64_t kRingAccounts = uint64_t{1} << 21;
constexpr uint64_t kRingDevices = uint64_t{1} << 21;

}  // namespace

FraudPlanner::FraudPlanner(const World& world, const Chains& chains, uint64_t block)
    : world_(&world),
      chains_(&chains),
      block_(block),
      first_customer_(world.FirstCustomer(block)),
      customers_(world.Customers(block)),
      mules_(world, block),
      victims_(world, mules_, block) {}

uint64_t FraudPlanner::RingNumber(uint64_t mule_index) const {
  // Above the numbers of chains.
  return (uint64_t{1} << 48) + block_ * World::kFraudstersPerBlock + chains_->RingOf(mule_index);
}

uint32_t FraudPlanner::RingDevice(uint64_t mule_index, uint64_t bits) const {
  return static_cast<uint32_t>(kRingDevices + chains_->RingOf(mule_index) * 2 + bits % 2);
}

uint32_t FraudPlanner::Add(const ChainLink& link) {
  links_.push_back(link);
  return static_cast<uint32_t>(links_.size() - 1);
}

uint64_t FraudPlanner::NextKey() const {
  const auto draw = static_cast<uint16_t>(block_ & 0xffff);
  return world_->keys().Of(Purpose::kFraudPayments, plans_.size(), draw) ^ block_;
}

AccountNumber FraudPlanner::FraudsterAccount(int64_t time, uint64_t bits) const {
  // About a dozen frauds per account.
  const int64_t days = (world_->end() - world_->begin()) / kFraudsterAccountLife + 1;
  const uint64_t width =
      std::max<uint64_t>(1, world_->Frauds(block_) / static_cast<uint64_t>(days) / 8);
  const auto period = static_cast<uint64_t>((time - world_->begin()) / kFraudsterAccountLife);
  const uint64_t index = period * width + UpperProduct(bits, width);
  return world_->FraudsterAccount(block_, index % kRingAccounts);
}

std::vector<FraudPlan> FraudPlanner::Plan(std::vector<Arrival>* arrivals) {
  plans_.clear();
  plans_.reserve(world_->Frauds(block_));
  links_.clear();
  PlanOwnChains();
  PlanLandingHops(arrivals);
  if (arrivals != nullptr) {
    std::ranges::sort(*arrivals, {}, [](const Arrival& arrival) {
      return std::tuple(arrival.time, arrival.customer, arrival.payer);
    });
  }
  links_.shrink_to_fit();
  PlanScenarios();
  // Here, because moves of money change times that were planned before.
  for (FraudPlan& plan : plans_) {
    if (plan.kind == Kind::kTed && !IsBankingTime(plan.time)) plan.kind = Kind::kPix;
  }
  std::ranges::sort(plans_, {}, [](const FraudPlan& plan) {
    return std::tuple(plan.time, plan.customer, plan.key);
  });
  return std::move(plans_);
}

void FraudPlanner::PlanOwnChains() {
  for (uint64_t stratum = 0; stratum < chains_->PerBlock(); ++stratum) {
    const ChainId id = {.block = block_, .stratum = stratum};
    const Chain chain = chains_->At(id);
    const Scenario& scenario = world_->parameters().scenarios[chain.scenario];
    for (uint32_t i = 0; i < chain.victim_rows; ++i) {
      FraudPlan plan;
      plan.time = chain.victim_payments[i].time;
      plan.amount = chain.victim_payments[i].amount;
      plan.receiver = chain.mules[0];
      plan.key = NextKey();
      plan.link = Add({.ring = block_ * chains_->PerBlock() + stratum});
      plan.customer = static_cast<uint32_t>(Local(chain.victim));
      plan.scenario = chain.scenario;
      plan.role = scenario.role;
      if (scenario.device == DeviceUse::kFraudster) {
        plan.fraudster = static_cast<uint32_t>(stratum / FraudPlan::kEpisodesOfDevice);
      }
      plans_.push_back(plan);
    }
  }
}

void FraudPlanner::PlanLandingHops(std::vector<Arrival>* arrivals) {
  const uint32_t hops = world_->parameters().chains.hops.max;
  for (uint64_t stratum = 0; stratum < chains_->PerBlock(); ++stratum) {
    for (uint32_t hop = 0; hop < hops; ++hop) {
      const ChainId id = chains_->Landing(block_, stratum, hop);
      if (hop >= chains_->HopsOf(id)) continue;
      const Chain chain = chains_->At(id);
      PlanHop(id, chain, hop);
      if (arrivals != nullptr) AddArrivals(links_.back().ring, chain, hop, *arrivals);
    }
  }
}

void FraudPlanner::AddArrivals(uint64_t ring, const Chain& chain, uint32_t hop,
                               std::vector<Arrival>& arrivals) const {
  const uint64_t payer = hop == 0 ? chain.victim : chain.mules[hop - 1];
  if (Local(payer) < customers_) return;
  const auto add = [&](const ChainStep& step) {
    arrivals.push_back({.time = step.time,
                        .amount = step.amount,
                        .payer = payer,
                        .ring = ring,
                        .customer = static_cast<uint32_t>(Local(chain.mules[hop]))});
  };
  if (hop > 0) return add(chain.transfers[hop - 1]);
  for (uint32_t i = 0; i < chain.victim_rows; ++i) add(chain.victim_payments[i]);
}

void FraudPlanner::PlanHop(ChainId id, const Chain& chain, uint32_t hop) {
  FraudPlan plan;
  plan.time = chain.transfers[hop].time;
  plan.amount = chain.transfers[hop].amount;
  plan.key = NextKey();
  plan.link = Add({.ring = id.block * chains_->PerBlock() + id.stratum,
                   .credit = hop == 0 ? chain.Stolen() : chain.transfers[hop - 1].amount,
                   .hop = static_cast<uint8_t>(hop + 1)});
  plan.customer = static_cast<uint32_t>(Local(chain.mules[hop]));
  plan.scenario = chain.scenario;
  plan.role = FraudRole::kMuleHop;
  const uint64_t mule_index = chains_->MuleIndex(id.stratum, hop);
  if (hop + 1 < chain.hops) {
    plan.receiver = chain.mules[hop + 1];
  } else {
    CashOut(mule_index, plan);
  }
  if (plan.kind == Kind::kPix) plan.fraudster = RingDevice(mule_index, plan.key >> 8);
  plans_.push_back(plan);
}

void FraudPlanner::CashOut(uint64_t mule_index, FraudPlan& plan) const {
  plan.role = FraudRole::kCashOut;
  // Cash machines pay out at most 2,000 BRL.
  if (plan.amount >= 2'000 && RoundToBanknotes(plan.amount) + 1'000 > plan.amount &&
      plan.key % 3 != 0) {
    plan.kind = Kind::kWithdrawal;
    plan.amount = RoundToBanknotes(plan.amount);
  } else {
    plan.receiver = world_->FraudsterAccount(block_, kRingAccounts + chains_->RingOf(mule_index));
  }
}

void FraudPlanner::PlanScenarios() {
  const std::span<const Scenario> scenarios = world_->parameters().scenarios;
  // The rows of each scenario, less those already in chains.
  const uint64_t frauds = world_->Frauds(block_);
  std::vector<uint64_t> done(scenarios.size());
  for (const FraudPlan& plan : plans_) ++done[plan.scenario];
  uint64_t weights = 0;
  for (const Scenario& scenario : scenarios) weights += scenario.weight;
  if (weights == 0) return;  // rejected by Validate()
  std::vector<uint64_t> missing(scenarios.size());
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const uint64_t wanted = frauds * scenarios[i].weight / weights;
    missing[i] = wanted > done[i] ? wanted - done[i] : 0;
  }
  const uint64_t left = frauds - plans_.size();
  const uint64_t sum = std::accumulate(missing.begin(), missing.end(), uint64_t{0});
  uint64_t number = 0;
  uint64_t before = 0;
  uint64_t weight_before = 0;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    // Cumulative rounding makes the counts add up.
    weight_before += sum == 0 ? scenarios[i].weight : missing[i];
    const uint64_t until = left * weight_before / (sum == 0 ? weights : sum);
    for (uint64_t rows = until - before; rows > 0;) {
      rows -= PlanEpisode(static_cast<uint8_t>(i), rows, number++);
    }
    before = until;
  }
}

}  // namespace reveza::fraudgen::coherent
