#include "fraudgen/model/coherent/frauds.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/honest.h"

namespace reveza::fraudgen::coherent {
namespace {

// How long a fraudster uses an account.
constexpr int64_t kFraudsterAccountLife = 9 * kDay;
// Offset of the rings' accounts among the fraudsters' accounts of a block.
constexpr uint64_t kRingAccounts = uint64_t{1} << 21;
constexpr uint64_t kRingDevices = uint64_t{1} << 21;
constexpr uint64_t kEpisodesOfDevice = 3;
constexpr uint32_t kShopsOfTriangulation = 24;
static_assert(kShopsOfTriangulation <= FraudPlan::kNoShop);

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

std::vector<FraudPlan> FraudPlanner::Plan() {
  plans_.clear();
  plans_.reserve(world_->Frauds(block_));
  links_.clear();
  PlanOwnChains();
  PlanLandingHops();
  links_.shrink_to_fit();
  PlanKinds();
  std::ranges::sort(plans_, {}, [](const FraudPlan& plan) {
    return std::tuple(plan.time, plan.customer, plan.key);
  });
  return std::move(plans_);
}

void FraudPlanner::PlanOwnChains() {
  for (uint64_t stratum = 0; stratum < chains_->PerBlock(); ++stratum) {
    const ChainId id = {.block = block_, .stratum = stratum};
    const Chain chain = chains_->At(id);
    const Typology& typology = world_->parameters().TypologyOf(chain.type);
    for (uint32_t i = 0; i < chain.victim_rows; ++i) {
      FraudPlan plan;
      plan.time = chain.victim_payments[i].time;
      plan.amount = chain.victim_payments[i].amount;
      plan.receiver = chain.mules[0];
      plan.key = NextKey();
      plan.link = Add({.ring = block_ * chains_->PerBlock() + stratum});
      plan.customer = static_cast<uint32_t>(Local(chain.victim));
      plan.type = chain.type;
      plan.role = typology.role;
      if (typology.device == DeviceUse::kFraudster) {
        plan.fraudster = static_cast<uint32_t>(stratum / kEpisodesOfDevice);
      }
      plans_.push_back(plan);
    }
  }
}

void FraudPlanner::PlanLandingHops() {
  const uint32_t hops = world_->parameters().chains.hops.max;
  for (uint64_t stratum = 0; stratum < chains_->PerBlock(); ++stratum) {
    for (uint32_t hop = 0; hop < hops; ++hop) {
      const ChainId id = chains_->Landing(block_, stratum, hop);
      if (hop < chains_->HopsOf(id)) PlanHop(id, chains_->At(id), hop);
    }
  }
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
  plan.type = chain.type;
  plan.role = FraudRole::kMuleHop;
  const uint64_t mule_index = chains_->MuleIndex(id.stratum, hop);
  if (hop + 1 < chain.hops) {
    plan.receiver = chain.mules[hop + 1];
  } else {
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
  if (plan.kind == Kind::kPix) plan.fraudster = RingDevice(mule_index, plan.key >> 8);
  plans_.push_back(plan);
}

void FraudPlanner::PlanKinds() {
  const Parameters& parameters = world_->parameters();
  // The rows of each kind, less those already in chains.
  const uint64_t frauds = world_->Frauds(block_);
  std::array<uint64_t, kFraudTypes> done{};
  for (const FraudPlan& plan : plans_) ++done[static_cast<std::size_t>(plan.type)];
  uint64_t weights = 0;
  for (const Typology& typology : parameters.typologies) weights += typology.weight;
  if (weights == 0) return;  // rejected by Validate()
  std::array<uint64_t, kFraudTypes> missing{};
  for (std::size_t i = 0; i < kFraudTypes; ++i) {
    const uint64_t wanted = frauds * parameters.typologies[i].weight / weights;
    missing[i] = wanted > done[i] ? wanted - done[i] : 0;
  }
  const uint64_t left = frauds - plans_.size();
  const uint64_t sum = std::accumulate(missing.begin(), missing.end(), uint64_t{0});
  uint64_t number = 0;
  uint64_t before = 0;
  uint64_t weight_before = 0;
  for (std::size_t i = 0; i < kFraudTypes; ++i) {
    // Cumulative rounding makes the counts add up.
    weight_before += sum == 0 ? parameters.typologies[i].weight : missing[i];
    const uint64_t until = left * weight_before / (sum == 0 ? weights : sum);
    for (uint64_t rows = until - before; rows > 0;) {
      const Typology& typology = parameters.typologies[i];
      Draws draws(world_->keys().Of(Purpose::kFrauds, number, static_cast<uint16_t>(i)) ^ block_);
      const auto wanted = static_cast<uint64_t>(draws.Between(typology.rows));
      const uint64_t length = std::min(rows, wanted);
      PlanEpisode(static_cast<FraudType>(i), length, number++);
      rows -= length;
    }
    before = until;
  }
}

// Mules and synthetic identities are active as long as their account is open.
Burst FraudPlanner::VictimOf(FraudType type, Draws& draws) const {
  if (type == FraudType::kMoneyLaundering && mules_.mules() != 0) {
    const uint64_t busy = chains_->ActiveMules();
    const uint64_t index = draws.Below(busy != 0 ? busy : mules_.mules());
    Burst burst = {.local = mules_.Mule(index), .from = world_->begin(), .until = world_->end()};
    if (busy != 0) {
      burst.from = chains_->ActiveFrom(index);
      burst.until = std::min(burst.until, chains_->ActiveUntil(index));
    }
    return burst;
  }
  if (type == FraudType::kFalseIdentity && mules_.synthetic() != 0) {
    return {.local = mules_.Synthetic(draws.Below(mules_.synthetic())),
            .from = world_->begin(),
            .until = world_->end()};
  }
  const Typology& typology = world_->parameters().TypologyOf(type);
  return victims_.Any(typology.drift_thousandths, draws);
}

// Returns the start of an episode: at the victim's hours, or at the fraudster's.
int64_t FraudPlanner::FirstTime(const Typology& typology, Profile profile, int64_t from,
                                int64_t until, Draws& draws) const {
  int64_t moment = draws.Between(from, until - 1);
  // The maximum of two uniform times has a linearly rising density.
  const int32_t drift = typology.drift_thousandths;
  if (drift != 0 && draws.Below(1'000) < static_cast<uint64_t>(std::abs(drift))) {
    const int64_t other = draws.Between(from, until - 1);
    moment = drift > 0 ? std::max(moment, other) : std::min(moment, other);
  }
  int64_t hour = world_->UsualHour(profile, draws);
  if (!draws.Chance(uint64_t{world_->parameters().Overlap()} * 1000)) {
    if (typology.hours == HourUse::kOffice) hour = draws.Between(9, 17);
    if (typology.hours == HourUse::kNight) hour = draws.Between(20, 29) % 24;
    if (typology.hours == HourUse::kAny) hour = static_cast<int64_t>(draws.Below(24));
  }
  const int64_t time =
      moment / kDay * kDay + hour * kHour + static_cast<int64_t>(draws.Below(kHour));
  return time >= from && time < until ? time : moment;
}

void FraudPlanner::PlanEpisode(FraudType type, uint64_t rows, uint64_t number) {
  const Parameters& parameters = world_->parameters();
  const Typology& typology = parameters.TypologyOf(type);
  Draws draws(world_->keys().Of(Purpose::kFrauds, number, 0x8000) ^ Mix(block_));
  Burst burst = VictimOf(type, draws);
  Person person = world_->PersonOf(first_customer_ + burst.local);
  int64_t time = FirstTime(typology, person.profile, burst.from, burst.until, draws);
  const WeightedChoice kinds(typology.kinds);
  const uint64_t account_bits = draws.Bits();
  const uint64_t shop = draws.Below(kShopsOfTriangulation);
  for (uint64_t i = 0; i < rows; ++i) {
    FraudPlan plan;
    if (time >= std::min(world_->end(), person.closes_at)) {
      time = draws.Between(burst.from, burst.until - 1);
    }
    plan.time = time;
    plan.amount = StolenAmount(typology, person, draws);
    plan.key = draws.Bits();
    plan.customer = static_cast<uint32_t>(burst.local);
    plan.kind = static_cast<Kind>(kinds.Of(draws.Bits()));
    plan.type = type;
    plan.role = typology.role;
    if (i < typology.test_rows) {
      plan.role = FraudRole::kTest;
      plan.amount = draws.Between(500, 1'500);
    }
    if (HasReceiver(plan.kind)) plan.receiver = FraudsterAccount(time, account_bits);
    if (typology.device == DeviceUse::kFraudster) {
      plan.fraudster = static_cast<uint32_t>(chains_->PerBlock() / kEpisodesOfDevice + 1 +
                                             number / kEpisodesOfDevice);
    }
    plans_.push_back(plan);
    if (type == FraudType::kTriangulation) {
      // The same false shop, with other victims' cards.
      plans_.back().false_shop = static_cast<uint8_t>(shop);
      if (const auto other = victims_.Covering(time, time + kHour, draws)) burst = *other;
      person = world_->PersonOf(first_customer_ + burst.local);
    }
    time += draws.Between(typology.gap_minutes.min * kMinute, typology.gap_minutes.max * kMinute);
    // Some pause for hours or days.
    if (draws.Chance(uint64_t{parameters.Overlap()} * 600)) time += draws.Between(kHour, 3 * kDay);
  }
}

}  // namespace reveza::fraudgen::coherent
