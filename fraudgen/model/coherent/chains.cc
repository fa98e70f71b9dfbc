#include "fraudgen/model/coherent/chains.h"

#include <algorithm>
#include <cstdlib>

#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/customer_state.h"

namespace reveza::fraudgen::coherent {
namespace {

// Hours of a victim's first payment.
constexpr int64_t kEarliestHour = 7;
constexpr int64_t kLatestHour = 16;

// Upper bound of the duration of a chain in which money waits. Later ones do not wait, because
// chains must end within the data.
constexpr int64_t kReserveDays = 8;
constexpr uint64_t kMinPoolCustomers = 40;
// Approximate time for which a mule is used.
constexpr int64_t kPeriodDays = 24;

uint64_t MulesOf(const World& world) {
  const uint64_t customers = world.customers() / world.blocks();
  return customers * world.parameters().chains.mules_thousandths / 1000;
}

// Fills `types` with those that start chains, and returns the choice among them.
WeightedChoice TypeChoice(const Parameters& parameters, std::vector<uint32_t>& types) {
  std::vector<uint32_t> weights;
  for (uint32_t type = 0; type < parameters.scenarios.size(); ++type) {
    const Scenario& scenario = parameters.scenarios[type];
    if (!scenario.chains || scenario.weight == 0) continue;
    types.push_back(type);
    weights.push_back(scenario.weight);
  }
  if (types.empty()) weights.push_back(1);
  return WeightedChoice(weights);
}

}  // namespace

int64_t ByDay(int64_t time) {
  const int64_t hour = time % kDay / kHour;
  if (hour < 6) return time + (6 - hour) * kHour;
  return hour < 20 ? time : time + 11 * kHour;
}

int64_t ModestAmount(const World& world, const Person& person, Draws& draws) {
  const int64_t usual = PersonsMedian(world.parameters().HabitsOf(person.profile)) *
                        SpendingScale(world, person, world.RowsAMonth(person)) / kOne;
  return std::max<int64_t>(PersonsAmount(usual, draws), 1'000);
}

int64_t StolenAmount(const Scenario& scenario, const Person& person, Draws& draws) {
  int64_t amount = 0;
  if (scenario.amount.max != 0) {
    // Mostly whole tens.
    amount = draws.Between(scenario.amount);
    if (amount > 20'000 && draws.Chance(600'000)) amount -= amount % 1'000;
  } else {
    amount = person.income / 1000 * draws.Between(scenario.income_thousandths);
    if (draws.Chance(500'000)) amount -= amount % 5'000;
  }
  return std::max<int64_t>(amount, 1'000);
}

bool Susceptible(const World& world, Profile profile, Draws& draws) {
  constexpr uint64_t kMaxSusceptibility = 150;
  return draws.Below(kMaxSusceptibility) <
         world.parameters().HabitsOf(profile).susceptibility_percent;
}

// The same number in each block, although blocks may differ by a customer.
Mules::Mules(const World& world, uint64_t block)
    : world_(&world),
      first_(world.FirstCustomer(block)),
      order_(world.keys().Of(Purpose::kMules, block), world.Customers(block)) {
  if (world.customers() / world.blocks() < kMinPoolCustomers) return;
  mules_ = std::max<uint64_t>(1, MulesOf(world));
  synthetic_ = std::max<uint64_t>(1, mules_ / 3);
}

// The mule is the first of this many candidates whose account is old enough. All of them joining
// late has a probability of one in 20 million.
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
  if (index >= mules_ + synthetic_ || At(index) != local) return AccountRole::kHonest;
  return index < mules_ ? AccountRole::kMule : AccountRole::kSynthetic;
}

Chains::Chains(const World& world)
    : world_(&world), type_choice_(TypeChoice(world.parameters(), types_)) {
  const ChainParameters& chains = world.parameters().chains;
  const uint64_t frauds = world.total_frauds() / world.blocks();
  const auto days = static_cast<int64_t>(world.parameters().Days());
  const uint64_t mules = MulesOf(world) / chains.hops.max;
  if (types_.empty() || days < 3 * kReserveDays || mules == 0 ||
      world.customers() / world.blocks() < kMinPoolCustomers) {
    return;
  }
  const uint64_t rows = kMaxVictimRows + chains.hops.max;
  per_block_ = frauds * chains.most_share_thousandths / 1000 / rows;
  span_ = days * kDay;
  if (per_block_ == 0) return;
  // Each period uses other mules, several at a time for each hop.
  const uint64_t wanted = (per_block_ + chains.hops_of_a_mule - 1) / chains.hops_of_a_mule;
  const uint64_t groups = std::max<uint64_t>(1, std::min(mules, wanted));
  const auto longest = static_cast<uint64_t>(std::max<int64_t>(1, days / kPeriodDays));
  const uint64_t periods = std::min({groups, longest, per_block_});
  mules_of_period_ = groups / periods;
  strata_of_period_ = (per_block_ + periods - 1) / periods;
  active_mules_ = periods * mules_of_period_ * chains.hops.max;
}

uint64_t Chains::Key(ChainId id) const {
  return world_->keys().Of(Purpose::kChain, id.block * per_block_ + id.stratum);
}

uint32_t Chains::HopsOf(ChainId id) const {
  const ChainParameters& chains = world_->parameters().chains;
  return static_cast<uint32_t>(Draws(Key(id)).Between(chains.hops));
}

uint64_t Chains::MuleIndex(uint64_t stratum, uint32_t hop) const {
  const uint64_t bits = world_->keys().Of(Purpose::kMules, stratum, static_cast<uint16_t>(1 + hop));
  const uint64_t hops = world_->parameters().chains.hops.max;
  const uint64_t period = stratum / strata_of_period_;
  return (period * hops + hop) * mules_of_period_ + UpperProduct(bits, mules_of_period_);
}

uint64_t Chains::MuleAt(int64_t time) const {
  const auto since =
      static_cast<unsigned __int128>(std::clamp<int64_t>(time - world_->begin(), 0, span_ - 1));
  return MuleIndex(static_cast<uint64_t>(since * per_block_ / static_cast<uint64_t>(span_)), 0);
}

int64_t Chains::StratumBegin(uint64_t stratum) const {
  return world_->begin() +
         static_cast<int64_t>(static_cast<__int128>(span_) * stratum / per_block_);
}

int64_t Chains::ActiveFrom(uint64_t mule_index) const {
  const uint64_t period = mule_index / mules_of_period_ / world_->parameters().chains.hops.max;
  return StratumBegin(std::min(per_block_, period * strata_of_period_));
}

int64_t Chains::ActiveUntil(uint64_t mule_index) const {
  const uint64_t period = mule_index / mules_of_period_ / world_->parameters().chains.hops.max;
  return StratumBegin(std::min(per_block_, (period + 1) * strata_of_period_)) + 2 * kDay;
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
  // Rejections are rare, so accepting the last candidate adds no bias.
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
  const Scenario& scenario = world_->parameters().scenarios[chain.scenario];
  const Person victim = world_->PersonOf(chain.victim);
  const auto max = std::min(scenario.rows.max, kMaxVictimRows);
  chain.victim_rows = static_cast<uint32_t>(draws.Between(scenario.rows.min, max));
  // Some amounts are those of a payment to a friend.
  const uint64_t overlap = world_->parameters().Overlap();
  const bool modest = draws.Chance(overlap * 1'000);
  int64_t time = day * kDay + draws.Between(kEarliestHour, kLatestHour) * kHour +
                 static_cast<int64_t>(draws.Below(kHour));
  const bool late = world_->end() - time < kReserveDays * kDay;
  for (uint32_t i = 0; i < chain.victim_rows; ++i) {
    const int64_t amount =
        modest ? ModestAmount(*world_, victim, draws) : StolenAmount(scenario, victim, draws);
    chain.victim_payments[i] = {.time = time, .amount = amount};
    // A fraudster's device is limited to 1,000 BRL a day until it is trusted.
    if (scenario.device == DeviceUse::kFraudster && chain.victim_payments[i].amount > 20'000) {
      chain.victim_payments[i].amount = draws.Between(9'000, 20'000);
    }
    time += draws.Between(kMinute, 12 * kMinute);
    // Some pay once more hours later.
    if (!late && draws.Chance(overlap * 900)) {
      time = ByDay(time + draws.Between(kHour, 8 * kHour));
    }
  }
}

void Chains::AddTransfers(Chain& chain, Draws& draws) const {
  const ChainParameters& chains = world_->parameters().chains;
  int64_t time = chain.victim_payments[chain.victim_rows - 1].time;
  int64_t amount = chain.Stolen();
  for (uint32_t hop = 0; hop < chain.hops; ++hop) {
    const int64_t left = world_->end() - time;
    const bool late = left < kReserveDays * kDay;
    const int64_t delay =
        draws.Between(chains.delay_minutes.min * kMinute, chains.delay_minutes.max * kMinute);
    time += late ? std::min(delay, left / (2 + chain.hops - hop)) : delay;
    // Some wait for hours, or until the next day.
    const bool waits = draws.Chance(world_->parameters().Overlap() * 500);
    if (waits && !late) time += draws.Between(2 * kHour, 26 * kHour);
    if (const int64_t by_day = ByDay(time); by_day < world_->end()) time = by_day;
    amount -= amount * draws.Between(chains.fee_thousandths) / 1000;
    if (draws.Chance(400'000) && amount > 20'000) amount -= amount % 1'000;
    chain.transfers[hop] = {.time = time, .amount = amount};
  }
}

// Drift: a rising kind is rejected more often at the beginning, a falling one at the end.
uint8_t Chains::ScenarioOf(ChainId id, Draws& draws) const {
  constexpr int kTries = 16;
  uint32_t type = types_[type_choice_.Of(draws.Bits())];
  const auto progress = static_cast<int64_t>(id.stratum * 1'000 / per_block_);
  for (int i = 0; i < kTries; ++i) {
    const int64_t drift = world_->parameters().scenarios[type].drift_thousandths;
    const int64_t share = 1'000'000 + drift * (2 * progress - 1'000);
    if (drift == 0 || static_cast<int64_t>(draws.Below(2'000'000)) < share) break;
    type = types_[type_choice_.Of(draws.Bits())];
  }
  return static_cast<uint8_t>(type);
}

Chain Chains::At(ChainId id) const {
  Chain chain;
  Draws draws(Key(id));
  const ChainParameters& chains = world_->parameters().chains;
  chain.hops = static_cast<uint32_t>(draws.Between(chains.hops));
  chain.scenario = ScenarioOf(id, draws);
  const int64_t length =
      std::max<int64_t>(1, StratumBegin(id.stratum + 1) - StratumBegin(id.stratum));
  const int64_t moment =
      StratumBegin(id.stratum) + static_cast<int64_t>(draws.Below(static_cast<uint64_t>(length)));
  chain.victim = VictimOf(id, moment / kDay, draws);
  Pay(chain, moment / kDay, draws);
  AddTransfers(chain, draws);
  for (uint32_t hop = 0; hop < chain.hops; ++hop) {
    const uint64_t block = Places(id.stratum, hop).At(id.block);
    const uint64_t local = Mules(*world_, block).Mule(MuleIndex(id.stratum, hop));
    chain.mules[hop] = world_->FirstCustomer(block) + local;
  }
  return chain;
}

namespace {

constexpr uint64_t kVictimCandidates = 3;
// Approximate maximum of frauds per heavily affected account.
constexpr uint64_t kFraudsOfFew = 150;
constexpr uint64_t kFraudsOfOthers = 25;

}  // namespace

Victims::Victims(const World& world, const Mules& mules, uint64_t block)
    : world_(&world),
      mules_(&mules),
      block_(block),
      customers_(world.Customers(block)),
      order_(world.keys().Of(Purpose::kVictims, block), customers_) {
  const VictimParameters& victims = world.parameters().victims;
  candidates_ = std::clamp<uint64_t>(customers_, 1, kVictimCandidates);
  groups_ = std::max<uint64_t>(1, customers_ / candidates_);
  const auto days = static_cast<uint64_t>((world.end() - world.begin()) / kDay);
  const uint64_t frauds = world.Frauds(block);
  const auto bursts = [&](uint32_t thousandths_a_year, uint64_t share, uint64_t each) {
    const uint64_t usual = customers_ * thousandths_a_year * days / 365 / 1'000;
    return std::max<uint64_t>({1, usual, frauds * share / 1'000 / each});
  };
  few_.bursts = bursts(victims.few_thousandths, victims.share_of_few_thousandths, kFraudsOfFew);
  others_ = {.first = few_.bursts,
             .bursts = bursts(victims.others_thousandths, 1'000 - victims.share_of_few_thousandths,
                              kFraudsOfOthers)};
}

const Victims::Tier& Victims::AnyTier(Draws& draws) const {
  return draws.Below(1'000) < world_->parameters().victims.share_of_few_thousandths ? few_
                                                                                    : others_;
}

// Customers are candidates in turn: nobody twice until everyone was once.
uint64_t Victims::Candidate(uint64_t group, uint64_t index) const {
  return order_.At(group % groups_ * candidates_ + index);
}

Burst Victims::At(const Tier& tier, uint64_t index) const {
  const VictimParameters& victims = world_->parameters().victims;
  const uint64_t group = tier.first + index;
  Draws draws(
      world_->keys().Of(Purpose::kVictims, group, static_cast<uint16_t>(1 + block_ % 60'000)) ^
      Mix(block_));
  const int64_t span = world_->end() - world_->begin();
  const int64_t length = std::min(
      span, draws.Between(int64_t{victims.days.min} * kDay, int64_t{victims.days.max} * kDay));
  // Bursts are stratified: each is in its part of the period, and of the time around it.
  const int64_t whole = span + 2 * Margin();
  const auto middle =
      static_cast<int64_t>((static_cast<__int128>(whole) * index +
                            static_cast<__int128>(draws.Below(static_cast<uint64_t>(whole)))) /
                           tier.bursts) -
      Margin();
  const int64_t overlap =
      std::min(middle + length - length / 2, span) - std::max<int64_t>(middle - length / 2, 0);
  const int64_t begins = std::clamp(middle - length / 2, kDay - length, span - kDay);
  const int64_t from = world_->begin() + std::max<int64_t>(begins, 0);
  const int64_t until = world_->begin() + std::min(begins + length, span);
  Burst burst;
  for (uint64_t i = 0; i < candidates_; ++i) {
    const uint64_t local = Candidate(group, i);
    const Person person = world_->PersonOf(world_->FirstCustomer(block_) + local);
    const bool last = i + 1 == candidates_;
    if (!last && (mules_->Has(local) || !Susceptible(*world_, person.profile, draws))) continue;
    burst = {.local = local,
             .from = std::max(from, person.opened_at),
             .until = std::min(until, person.closes_at),
             .whole = length,
             .overlap = std::max<int64_t>(overlap, 0)};
    if (burst.until - burst.from >= kDay) break;
    // Fall back to the last candidate, shifted into the time with an account.
    burst.from = std::clamp(from, std::min(person.opened_at, world_->end() - 1),
                            std::max(person.opened_at, person.closes_at - (until - from)));
    burst.until = std::min({burst.from + until - from, person.closes_at, world_->end()});
  }
  return burst;
}

int64_t Victims::Margin() const {
  const int64_t span = world_->end() - world_->begin();
  return std::min(span, int64_t{world_->parameters().victims.days.max} * kDay) / 2;
}

// A burst of which only a part is in the period bears that part of its frauds, so that there are as
// many at the ends of the period as in the middle.
Burst Victims::Any(int32_t drift_thousandths, Draws& draws) const {
  constexpr int kTries = 16;
  Burst burst;
  for (int i = 0; i < kTries; ++i) {
    burst = AnyWhole(drift_thousandths, draws);
    const int64_t inside = std::min(burst.overlap, burst.until - burst.from);
    if (draws.Below(static_cast<uint64_t>(burst.whole)) < static_cast<uint64_t>(inside)) break;
  }
  return burst;
}

Burst Victims::AnyWhole(int32_t drift_thousandths, Draws& draws) const {
  const Tier& tier = AnyTier(draws);
  uint64_t index = draws.Below(tier.bursts);
  // The maximum of two uniform draws has a linearly rising density.
  if (drift_thousandths != 0 &&
      draws.Below(1'000) < static_cast<uint64_t>(std::abs(drift_thousandths))) {
    const uint64_t other = draws.Below(tier.bursts);
    index = drift_thousandths > 0 ? std::max(index, other) : std::min(index, other);
  }
  return At(tier, index);
}

std::optional<Burst> Victims::Covering(int64_t from, int64_t until, Draws& draws) const {
  constexpr int kTries = 12;
  const int64_t span = world_->end() - world_->begin();
  const int64_t whole = span + 2 * Margin();
  for (int i = 0; i < kTries; ++i) {
    const Tier& tier = AnyTier(draws);
    const auto index_at = [&](int64_t time) {
      const int64_t part = std::clamp<int64_t>(time - world_->begin() + Margin(), 0, whole - 1);
      return static_cast<int64_t>(static_cast<__int128>(part) * tier.bursts / whole);
    };
    const auto index = draws.Between(index_at(from - Margin()), index_at(until + Margin()));
    const Burst burst = At(tier, static_cast<uint64_t>(index));
    if (burst.from > from || burst.until < until || mules_->Has(burst.local)) continue;
    const Person person = world_->PersonOf(world_->FirstCustomer(block_) + burst.local);
    if (person.opened_at < world_->begin() && person.closes_at == kForever) return burst;
  }
  return std::nullopt;
}

}  // namespace reveza::fraudgen::coherent
