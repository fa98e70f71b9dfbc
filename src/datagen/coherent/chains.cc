#include "datagen/coherent/chains.h"

#include <algorithm>

#include "datagen/coherent/spending.h"
#include "datagen/coherent/victims.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

// When a victim begins to pay.
constexpr int64_t kEarliestHour = 7;
constexpr int64_t kLatestHour = 16;

// By night a limit would hold the money back: who waited into it goes on in the morning.
int64_t ByDay(int64_t time) {
  const int64_t hour = time % kDay / kHour;
  if (hour < 6) return time + 2 * kHour;
  return hour < 20 ? time : time + 11 * kHour;
}

// Chains end before the data do: what they may take in all.
constexpr int64_t kReserveDays = 8;
constexpr uint64_t kLeastCustomers = 40;
// After about so long a mule is left alone.
constexpr int64_t kPeriodDays = 24;

uint64_t MulesOf(const World& world) {
  const uint64_t customers = world.customers() / world.blocks();
  return customers * world.parameters().chains.mules_thousandths / 1000;
}

std::vector<uint32_t> ChainTypes(const Parameters& parameters, std::vector<uint32_t>& weights) {
  std::vector<uint32_t> types;
  for (uint32_t type = 0; type < kFraudTypes; ++type) {
    const Typology& typology = parameters.typologies[type];
    if (!typology.chains || typology.weight == 0) continue;
    types.push_back(type);
    weights.push_back(typology.weight);
  }
  if (types.empty()) weights.push_back(1);
  return types;
}

WeightedChoice TypeChoice(const Parameters& parameters, std::vector<uint32_t>& types) {
  std::vector<uint32_t> weights;
  types = ChainTypes(parameters, weights);
  return lists::ChoiceOf(weights);
}

}  // namespace

int64_t StolenAmount(const Typology& typology, const Person& person, Draws& draws) {
  int64_t amount = 0;
  if (typology.most_amount != 0) {
    // Nearly everybody asks for whole tens.
    amount = draws.Between(typology.least_amount, typology.most_amount);
    if (amount > 20'000 && draws.Chance(600'000)) amount -= amount % 1'000;
  } else {
    amount = person.income / 1000 *
             draws.Between(typology.least_income_thousandths, typology.most_income_thousandths);
    if (draws.Chance(500'000)) amount -= amount % 5'000;
  }
  return std::max<int64_t>(amount, 1'000);
}

bool Susceptible(const World& world, Profile profile, Draws& draws) {
  constexpr uint64_t kMost = 150;
  return draws.Below(kMost) < world.parameters().HabitsOf(profile).susceptibility_percent;
}

// The same count in each block, though some have a customer more.
Mules::Mules(const World& world, uint64_t block)
    : world_(&world),
      first_(world.FirstCustomer(block)),
      order_(world.keys().Of(Purpose::kMules, block), world.Customers(block)) {
  if (world.customers() / world.blocks() < kLeastCustomers) return;
  mules_ = std::max<uint64_t>(1, MulesOf(world));
  invented_ = std::max<uint64_t>(1, mules_ / 3);
}

// Of so many candidates, the first whose account is old enough: all of them joining late would be
// one case in 20 million.
constexpr uint64_t kCandidates = 8;

uint64_t Mules::At(uint64_t index) const {
  uint64_t local = 0;
  for (uint64_t i = 0; i < kCandidates; ++i) {
    local = order_.At(index * kCandidates + i);
    if (world_->PersonOf(first_ + local).opened_at < world_->begin()) break;
  }
  return local;
}

AccountRole Mules::RoleOf(uint64_t local) const {
  const uint64_t index = order_.IndexOf(local) / kCandidates;
  if (index >= mules_ + invented_ || At(index) != local) return AccountRole::kHonest;
  return index < mules_ ? AccountRole::kMule : AccountRole::kInvented;
}

Chains::Chains(const World& world)
    : world_(&world), type_choice_(TypeChoice(world.parameters(), types_)) {
  const ChainParameters& chains = world.parameters().chains;
  const uint64_t frauds = world.total_frauds() / world.blocks();
  const int64_t days = world.parameters().last_day - world.parameters().first_day + 1;
  const uint64_t mules = MulesOf(world) / chains.most_hops;
  if (types_.empty() || days < 3 * kReserveDays || mules == 0 ||
      world.customers() / world.blocks() < kLeastCustomers) {
    return;
  }
  const uint64_t rows = kMostVictimRows + chains.most_hops;
  of_block_ = frauds * chains.most_share_thousandths / 1000 / rows;
  span_ = (days - kReserveDays) * kDay;
  if (of_block_ == 0) return;
  // In each period other mules are busy, for each hop some of them at the same time.
  const uint64_t wanted = (of_block_ + chains.hops_of_a_mule - 1) / chains.hops_of_a_mule;
  const uint64_t groups = std::max<uint64_t>(1, std::min(mules, wanted));
  const auto longest = static_cast<uint64_t>(std::max<int64_t>(1, days / kPeriodDays));
  const uint64_t periods = std::min({groups, longest, of_block_});
  mules_of_period_ = groups / periods;
  strata_of_period_ = (of_block_ + periods - 1) / periods;
  busy_mules_ = periods * mules_of_period_ * chains.most_hops;
}

uint64_t Chains::Key(ChainId id) const {
  return world_->keys().Of(Purpose::kChain, id.block * of_block_ + id.stratum);
}

uint32_t Chains::HopsOf(ChainId id) const {
  const ChainParameters& chains = world_->parameters().chains;
  return static_cast<uint32_t>(Draws(Key(id)).Between(chains.least_hops, chains.most_hops));
}

uint64_t Chains::MuleIndex(uint64_t stratum, uint32_t hop) const {
  const uint64_t bits = world_->keys().Of(Purpose::kMules, stratum, static_cast<uint16_t>(1 + hop));
  const uint64_t hops = world_->parameters().chains.most_hops;
  const uint64_t period = stratum / strata_of_period_;
  return (period * hops + hop) * mules_of_period_ + UpperProduct(bits, mules_of_period_);
}

int64_t Chains::StratumBegin(uint64_t stratum) const {
  return world_->begin() + static_cast<int64_t>(static_cast<__int128>(span_) * stratum / of_block_);
}

int64_t Chains::BusyFrom(uint64_t mule_index) const {
  const uint64_t period = mule_index / mules_of_period_ / world_->parameters().chains.most_hops;
  return StratumBegin(std::min(of_block_, period * strata_of_period_));
}

int64_t Chains::BusyUntil(uint64_t mule_index) const {
  const uint64_t period = mule_index / mules_of_period_ / world_->parameters().chains.most_hops;
  return StratumBegin(std::min(of_block_, (period + 1) * strata_of_period_)) + 2 * kDay;
}

Permutation Chains::Places(uint64_t stratum, uint32_t hop) const {
  return {world_->keys().Of(Purpose::kChainPlaces, stratum, static_cast<uint16_t>(hop)),
          world_->blocks()};
}

ChainId Chains::Landing(uint64_t block, uint64_t stratum, uint32_t hop) const {
  return {.block = Places(stratum, hop).IndexOf(block), .stratum = stratum};
}

uint64_t Chains::VictimOf(ChainId id, int64_t day, Draws& draws) const {
  const Mules mules(*world_, id.block);
  const uint64_t first = world_->FirstCustomer(id.block);
  const Victims victims(*world_, mules, id.block);
  if (const auto burst = victims.Covering(day * kDay, (day + 1) * kDay, draws)) {
    return first + burst->local;
  }
  // Few are refused, so the last try is as good as any.
  uint64_t local = 0;
  for (int i = 0; i < 64; ++i) {
    local = draws.Below(world_->Customers(id.block));
    if (mules.Has(local)) continue;
    const Person person = world_->PersonOf(first + local);
    if (person.opened_at < world_->begin() && Susceptible(*world_, person.profile, draws)) break;
  }
  return first + local;
}

void Chains::Pay(Chain& chain, int64_t day, Draws& draws) const {
  const Typology& typology = world_->parameters().typologies[static_cast<std::size_t>(chain.type)];
  const Person victim = world_->PersonOf(chain.victim);
  const auto most = std::min(typology.most_rows, kMostVictimRows);
  chain.victim_rows = static_cast<uint32_t>(draws.Between(typology.least_rows, most));
  // Some take what the victim's friends would get.
  const bool modest = draws.Chance(uint64_t{world_->parameters().Overlap()} * 1'000);
  const int64_t usual = PersonsMedian(world_->parameters().HabitsOf(victim.profile)) *
                        SpendingScale(*world_, victim, world_->RowsAMonth(victim)) / kOne;
  int64_t time = day * kDay + draws.Between(kEarliestHour, kLatestHour) * kHour +
                 static_cast<int64_t>(draws.Below(kHour));
  for (uint32_t i = 0; i < chain.victim_rows; ++i) {
    const int64_t amount = modest ? std::max<int64_t>(PersonsAmount(usual, draws), 1'000)
                                  : StolenAmount(typology, victim, draws);
    chain.paid[i] = {.time = time, .amount = amount};
    // A thief's device may pay 1,000 BRL a day until it is trusted.
    if (typology.device == DeviceUse::kThief && chain.paid[i].amount > 20'000) {
      chain.paid[i].amount = draws.Between(9'000, 20'000);
    }
    time += draws.Between(kMinute, 12 * kMinute);
  }
}

void Chains::PassOn(Chain& chain, Draws& draws) const {
  const ChainParameters& chains = world_->parameters().chains;
  int64_t time = chain.paid[chain.victim_rows - 1].time;
  int64_t amount = chain.Stolen();
  for (uint32_t hop = 0; hop < chain.hops; ++hop) {
    time +=
        draws.Between(chains.least_delay_minutes * kMinute, chains.most_delay_minutes * kMinute);
    // The careful wait until the next day.
    if (draws.Chance(world_->parameters().Overlap() * 500)) time += kDay - 30 * kMinute;
    time = ByDay(time);
    amount -=
        amount * draws.Between(chains.least_fee_thousandths, chains.most_fee_thousandths) / 1000;
    if (draws.Chance(400'000) && amount > 20'000) amount -= amount % 1'000;
    chain.passed_on[hop] = {.time = time, .amount = amount};
  }
}

// A kind that rises is refused more often at first, one that falls at the end.
FraudType Chains::TypeOf(ChainId id, Draws& draws) const {
  constexpr int kTries = 16;
  uint32_t type = types_[type_choice_.Of(draws.Bits())];
  const auto progress = static_cast<int64_t>(id.stratum * 1'000 / of_block_);
  for (int i = 0; i < kTries; ++i) {
    const int64_t drift = world_->parameters().typologies[type].drift_thousandths;
    const int64_t share = 1'000'000 + drift * (2 * progress - 1'000);
    if (drift == 0 || static_cast<int64_t>(draws.Below(2'000'000)) < share) break;
    type = types_[type_choice_.Of(draws.Bits())];
  }
  return static_cast<FraudType>(type);
}

Chain Chains::At(ChainId id) const {
  Chain chain;
  Draws draws(Key(id));
  const ChainParameters& chains = world_->parameters().chains;
  chain.hops = static_cast<uint32_t>(draws.Between(chains.least_hops, chains.most_hops));
  chain.type = TypeOf(id, draws);
  const int64_t length =
      std::max<int64_t>(1, StratumBegin(id.stratum + 1) - StratumBegin(id.stratum));
  const int64_t moment =
      StratumBegin(id.stratum) + static_cast<int64_t>(draws.Below(static_cast<uint64_t>(length)));
  chain.victim = VictimOf(id, moment / kDay, draws);
  Pay(chain, moment / kDay, draws);
  PassOn(chain, draws);
  for (uint32_t hop = 0; hop < chain.hops; ++hop) {
    const uint64_t block = Places(id.stratum, hop).At(id.block);
    const uint64_t local = Mules(*world_, block).Mule(MuleIndex(id.stratum, hop));
    chain.mules[hop] = world_->FirstCustomer(block) + local;
  }
  return chain;
}

}  // namespace reveza::datagen::coherent
