#include "datagen/coherent/frauds.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "datagen/coherent/honest.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

// An account of a thief is good for so long.
constexpr int64_t kThiefAccountLife = 9 * kDay;
// Places in the numbers of a block's thieves: accounts of thieves, then those of rings.
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
  // Beyond the numbers of chains.
  return (uint64_t{1} << 48) + block_ * World::kThievesOfBlock + chains_->RingOf(mule_index);
}

uint32_t FraudPlanner::RingDevice(uint64_t mule_index, uint64_t bits) const {
  return static_cast<uint32_t>(kRingDevices + chains_->RingOf(mule_index) * 2 + bits % 2);
}

uint32_t FraudPlanner::Add(const ChainLink& link) {
  links_.push_back(link);
  return static_cast<uint32_t>(links_.size() - 1);
}

AccountNumber FraudPlanner::ThiefAccount(int64_t time, uint64_t bits) const {
  // About a dozen frauds go to each.
  const int64_t days = (world_->end() - world_->begin()) / kThiefAccountLife + 1;
  const uint64_t width =
      std::max<uint64_t>(1, world_->Frauds(block_) / static_cast<uint64_t>(days) / 8);
  const auto period = static_cast<uint64_t>((time - world_->begin()) / kThiefAccountLife);
  const uint64_t index = period * width + UpperProduct(bits, width);
  return world_->ThiefAccount(block_, index % kRingAccounts);
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
  for (uint64_t stratum = 0; stratum < chains_->OfBlock(); ++stratum) {
    const ChainId id = {.block = block_, .stratum = stratum};
    const Chain chain = chains_->At(id);
    const Typology& typology =
        world_->parameters().typologies[static_cast<std::size_t>(chain.type)];
    for (uint32_t i = 0; i < chain.victim_rows; ++i) {
      FraudPlan plan;
      plan.time = chain.paid[i].time;
      plan.amount = chain.paid[i].amount;
      plan.receiver = chain.mules[0];
      plan.key = world_->keys().Of(Purpose::kFraudPayments, plans_.size(),
                                   static_cast<uint16_t>(block_ & 0xffff)) ^
                 block_;
      plan.link = Add({.ring = block_ * chains_->OfBlock() + stratum});
      plan.customer = static_cast<uint32_t>(Local(chain.victim));
      plan.type = chain.type;
      plan.role = typology.role;
      if (typology.device == DeviceUse::kThief) {
        plan.thief = static_cast<uint32_t>(stratum / kEpisodesOfDevice);
      }
      plans_.push_back(plan);
    }
  }
}

void FraudPlanner::PlanLandingHops() {
  const uint32_t hops = world_->parameters().chains.most_hops;
  for (uint64_t stratum = 0; stratum < chains_->OfBlock(); ++stratum) {
    for (uint32_t hop = 0; hop < hops; ++hop) {
      const ChainId id = chains_->Landing(block_, stratum, hop);
      if (hop < chains_->HopsOf(id)) PlanHop(id, chains_->At(id), hop);
    }
  }
}

void FraudPlanner::PlanHop(ChainId id, const Chain& chain, uint32_t hop) {
  FraudPlan plan;
  plan.time = chain.passed_on[hop].time;
  plan.amount = chain.passed_on[hop].amount;
  plan.key = world_->keys().Of(Purpose::kFraudPayments, plans_.size(),
                               static_cast<uint16_t>(block_ & 0xffff)) ^
             block_;
  plan.link = Add({.ring = id.block * chains_->OfBlock() + id.stratum,
                   .credit = hop == 0 ? chain.Stolen() : chain.passed_on[hop - 1].amount,
                   .hop = static_cast<uint8_t>(hop + 1)});
  plan.customer = static_cast<uint32_t>(Local(chain.mules[hop]));
  plan.type = chain.type;
  plan.role = FraudRole::kMuleHop;
  const uint64_t mule_index = chains_->MuleIndex(id.stratum, hop);
  if (hop + 1 < chain.hops) {
    plan.receiver = chain.mules[hop + 1];
  } else {
    plan.role = FraudRole::kCashOut;
    // A machine gives 2,000 BRL at most.
    if (plan.amount >= 2'000 && Cash(plan.amount) + 1'000 > plan.amount && plan.key % 3 != 0) {
      plan.kind = Kind::kWithdrawal;
      plan.amount = Cash(plan.amount);
    } else {
      plan.receiver = world_->ThiefAccount(block_, kRingAccounts + chains_->RingOf(mule_index));
    }
  }
  if (plan.kind == Kind::kPix) plan.thief = RingDevice(mule_index, plan.key >> 8);
  plans_.push_back(plan);
}

void FraudPlanner::PlanKinds() {
  const Parameters& parameters = world_->parameters();
  // What each kind should have, less what chains have of it already.
  const uint64_t frauds = world_->Frauds(block_);
  std::array<uint64_t, kFraudTypes> done{};
  for (const FraudPlan& plan : plans_) ++done[static_cast<std::size_t>(plan.type)];
  uint64_t weights = 0;
  for (const Typology& typology : parameters.typologies) weights += typology.weight;
  if (weights == 0) return;  // parameters like that are refused
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
    // Cumulative rounding, so that the counts add up.
    weight_before += sum == 0 ? parameters.typologies[i].weight : missing[i];
    const uint64_t until = left * weight_before / (sum == 0 ? weights : sum);
    for (uint64_t rows = until - before; rows > 0;) {
      const Typology& typology = parameters.typologies[i];
      Draws draws(world_->keys().Of(Purpose::kFrauds, number, static_cast<uint16_t>(i)) ^ block_);
      const auto wanted =
          static_cast<uint64_t>(draws.Between(typology.least_rows, typology.most_rows));
      const uint64_t length = std::min(rows, wanted);
      PlanEpisode(static_cast<FraudType>(i), length, number++);
      rows -= length;
    }
    before = until;
  }
}

// Mules and invented people act as long as they are there.
Burst FraudPlanner::VictimOf(FraudType type, Draws& draws) const {
  if (type == FraudType::kMoneyLaundering && mules_.mules() != 0) {
    const uint64_t busy = chains_->BusyMules();
    const uint64_t index = draws.Below(busy != 0 ? busy : mules_.mules());
    Burst burst = {.local = mules_.Mule(index), .from = world_->begin(), .until = world_->end()};
    if (busy != 0) {
      burst.from = chains_->BusyFrom(index);
      burst.until = std::min(burst.until, chains_->BusyUntil(index));
    }
    return burst;
  }
  if (type == FraudType::kFalseIdentity && mules_.invented() != 0) {
    return {.local = mules_.Invented(draws.Below(mules_.invented())),
            .from = world_->begin(),
            .until = world_->end()};
  }
  const Typology& typology = world_->parameters().typologies[static_cast<std::size_t>(type)];
  return victims_.Any(typology.drift_thousandths, draws);
}

// When an episode begins: as the victim lives, or when the thief likes.
int64_t FraudPlanner::FirstTime(const Typology& typology, Profile profile, int64_t from,
                                int64_t until, Draws& draws) const {
  int64_t moment = draws.Between(from, until - 1);
  // The later of two moments is as often late as it is not early, so it is a share that rises.
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
  return std::clamp(time, from, until - 1);
}

void FraudPlanner::PlanEpisode(FraudType type, uint64_t rows, uint64_t number) {
  const Parameters& parameters = world_->parameters();
  const Typology& typology = parameters.typologies[static_cast<std::size_t>(type)];
  Draws draws(world_->keys().Of(Purpose::kFrauds, number, 0x8000) ^ Mix(block_));
  Burst burst = VictimOf(type, draws);
  Person person = world_->PersonOf(first_customer_ + burst.local);
  int64_t time = FirstTime(typology, person.profile, burst.from, burst.until, draws);
  const WeightedChoice kinds = lists::ChoiceOf(typology.kinds);
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
    if (HasReceiver(plan.kind)) plan.receiver = ThiefAccount(time, account_bits);
    if (typology.device == DeviceUse::kThief) {
      plan.thief = static_cast<uint32_t>(chains_->OfBlock() / kEpisodesOfDevice + 1 +
                                         number / kEpisodesOfDevice);
    }
    plans_.push_back(plan);
    if (type == FraudType::kTriangulation) {
      // The same false shop, the cards of others.
      plans_.back().false_shop = static_cast<uint8_t>(shop);
      if (const auto other = victims_.Covering(time, time + kHour, draws)) burst = *other;
      person = world_->PersonOf(first_customer_ + burst.local);
    }
    time +=
        draws.Between(typology.least_gap_minutes * kMinute, typology.most_gap_minutes * kMinute);
    // The careful take their time.
    if (draws.Chance(uint64_t{parameters.Overlap()} * 600)) time += draws.Between(kHour, 3 * kDay);
  }
}

}  // namespace reveza::datagen::coherent
