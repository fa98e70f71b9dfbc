// Plans the episodes of scenarios: the victims' payments, and how their money moves on.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <vector>

#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/frauds.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr uint32_t kFalseShops = 24;  // of a block
static_assert(kFalseShops <= FraudPlan::kNoShop);
constexpr uint64_t kEpisodeRings = uint64_t{1} << 47;
// Smaller parts are not worth a transfer.
constexpr int64_t kMinTransfer = 1'000;

}  // namespace

// Mules and synthetic identities are active as long as their account is open.
Burst FraudPlanner::VictimOf(const Scenario& scenario, Draws& draws) const {
  if (scenario.account == AccountUse::kMule && mules_.mules() != 0) {
    const uint64_t busy = chains_->ActiveMules();
    const uint64_t index = draws.Below(busy != 0 ? busy : mules_.mules());
    Burst burst = {.local = mules_.Mule(index), .from = world_->begin(), .until = world_->end()};
    if (busy != 0) {
      burst.from = chains_->ActiveFrom(index);
      burst.until = std::min(burst.until, chains_->ActiveUntil(index));
    }
    return burst;
  }
  if (scenario.account == AccountUse::kSynthetic && mules_.synthetic() != 0) {
    return {.local = mules_.Synthetic(draws.Below(mules_.synthetic())),
            .from = world_->begin(),
            .until = world_->end()};
  }
  return victims_.Any(scenario.drift_thousandths, draws);
}

// Returns another victim of an episode, or the first one if none is found.
Burst FraudPlanner::OtherVictim(const Scenario& scenario, const Burst& first, int64_t time,
                                Draws& draws) const {
  constexpr int kTries = 16;
  if (!scenario.same_quarter) {
    return victims_.Covering(time, time + kHour, draws).value_or(first);
  }
  const uint64_t quarter = (first_customer_ + first.local) / World::kQuarter * World::kQuarter;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t number = quarter + draws.Below(World::kQuarter);
    const uint64_t local = Local(number);
    if (number < first_customer_ || local >= customers_ || mules_.Has(local)) continue;
    const Person person = world_->PersonOf(number);
    if (person.opened_at >= world_->begin() || person.closes_at != kForever) continue;
    return {.local = local, .from = world_->begin(), .until = world_->end()};
  }
  return first;
}

// Returns the start of an episode: at the victim's hours, or at the fraudster's.
int64_t FraudPlanner::FirstTime(const Scenario& scenario, Profile profile, int64_t from,
                                int64_t until, Draws& draws) const {
  int64_t moment = draws.Between(from, until - 1);
  // The maximum of two uniform times has a linearly rising density.
  const int32_t drift = scenario.drift_thousandths;
  if (drift != 0 && draws.Below(1'000) < static_cast<uint64_t>(std::abs(drift))) {
    const int64_t other = draws.Between(from, until - 1);
    moment = drift > 0 ? std::max(moment, other) : std::min(moment, other);
  }
  int64_t hour = world_->UsualHour(profile, draws);
  if (!draws.Chance(uint64_t{world_->parameters().Overlap()} * 1000)) {
    if (scenario.hours == HourUse::kOffice) hour = draws.Between(9, 17);
    if (scenario.hours == HourUse::kNight) hour = draws.Between(20, 29) % 24;
    if (scenario.hours == HourUse::kAny) hour = static_cast<int64_t>(draws.Below(24));
  }
  const int64_t time =
      moment / kDay * kDay + hour * kHour + static_cast<int64_t>(draws.Below(kHour));
  return time >= from && time < until ? time : moment;
}

uint64_t FraudPlanner::PlanEpisode(uint8_t index, uint64_t rows, uint64_t number) {
  const Scenario& scenario = world_->parameters().scenarios[index];
  Draws draws(world_->keys().Of(Purpose::kFrauds, number, 0x8000) ^ Mix(block_));
  const Burst first = VictimOf(scenario, draws);
  const Person person = world_->PersonOf(first_customer_ + first.local);
  const int64_t begins = FirstTime(scenario, person.profile, first.from, first.until, draws);
  Episode episode = {.scenario = &scenario,
                     .index = index,
                     .number = number,
                     .account_bits = draws.Bits(),
                     .shop = draws.Below(kFalseShops)};
  const int64_t victims = draws.Between(scenario.victims);
  for (int64_t i = 0; i < victims; ++i) {
    if (i == 0) {
      PlanPayments(first, begins, draws, episode);
      continue;
    }
    const int64_t within = int64_t{scenario.within_hours} * kHour;
    const int64_t time = std::min(begins + draws.Between(0, within), world_->end() - 1);
    PlanPayments(OtherVictim(scenario, first, time, draws), time, draws, episode);
  }
  if (scenario.MovesMoney()) PlanMoves(draws, episode);
  std::ranges::stable_sort(episode.plans, {}, &FraudPlan::time);
  // The last episode of a scenario is truncated, so that the number of frauds is exact.
  episode.plans.resize(std::min<std::size_t>(episode.plans.size(), rows));
  plans_.insert(plans_.end(), episode.plans.begin(), episode.plans.end());
  return episode.plans.size();
}

void FraudPlanner::PlanPayments(const Burst& burst, int64_t time, Draws& draws,
                                Episode& episode) const {
  const Scenario& scenario = *episode.scenario;
  const Person person = world_->PersonOf(first_customer_ + burst.local);
  const WeightedChoice kinds(scenario.kinds);
  const uint64_t overlap = world_->parameters().Overlap();
  const int64_t rows = draws.Between(scenario.rows);
  for (int64_t i = 0; i < rows; ++i) {
    FraudPlan plan;
    if (time < person.opened_at || time >= std::min(world_->end(), person.closes_at)) {
      time = draws.Between(burst.from, burst.until - 1);
    }
    plan.time = time;
    plan.amount = StolenAmount(scenario, person, draws);
    plan.key = draws.Bits();
    plan.customer = static_cast<uint32_t>(burst.local);
    plan.kind = static_cast<Kind>(kinds.Of(draws.Bits()));
    plan.scenario = episode.index;
    plan.role = scenario.role;
    if (i < int64_t{scenario.test_rows}) {
      plan.role = FraudRole::kTest;
      plan.amount = draws.Between(500, 1'500);
    }
    if (HasReceiver(plan.kind)) plan.receiver = FraudsterAccount(time, episode.account_bits);
    if (scenario.device == DeviceUse::kFraudster) {
      constexpr uint64_t kEpisodes = FraudPlan::kEpisodesOfDevice;
      plan.fraudster =
          static_cast<uint32_t>(chains_->PerBlock() / kEpisodes + 1 + episode.number / kEpisodes);
    }
    if (scenario.false_shop) plan.false_shop = static_cast<uint8_t>(episode.shop);
    episode.plans.push_back(plan);
    time += draws.Between(scenario.gap_minutes.min * kMinute, scenario.gap_minutes.max * kMinute);
    // Some pause for hours or days.
    if (draws.Chance(overlap * 900) && !scenario.MovesMoney()) {
      time += draws.Between(kHour, 3 * kDay);
    }
  }
}

// Chooses mules of the block that are active at the time of the episode: neighbours, so that some
// share a ring.
std::vector<std::vector<FraudPlanner::Mule>> FraudPlanner::ChooseMules(const Episode& episode,
                                                                       Draws& draws) const {
  const FraudPlan& begins = episode.plans.front();
  const uint64_t active = chains_->ActiveMules();
  const uint64_t mules = active != 0 ? active : mules_.mules();
  uint64_t next = draws.Below(mules);
  if (active != 0) next = chains_->MuleAt(begins.time) + draws.Below(3);
  std::vector<std::vector<Mule>> groups;
  for (const MuleGroup& group : episode.scenario->groups) {
    groups.emplace_back();
    for (int64_t left = draws.Between(group.size); left > 0; --left) {
      uint64_t index = next++ % mules;
      // Money does not go back to the payer unless a move says so.
      if (mules > 1 && mules_.Mule(index) == begins.customer) index = next++ % mules;
      groups.back().push_back({static_cast<uint32_t>(mules_.Mule(index)), index});
    }
  }
  return groups;
}

void FraudPlanner::PlanMoves(Draws& draws, Episode& episode) {
  if (mules_.mules() == 0) return;  // the receivers are other banks' customers
  const Scenario& scenario = *episode.scenario;
  const auto groups = ChooseMules(episode, draws);
  const std::vector<Mule>& paid = groups[scenario.pays];
  const bool modest = draws.Chance(uint64_t{world_->parameters().Overlap()} * 1'000);
  const ChainLink link = {
      .ring = kEpisodeRings + block_ * World::kFraudstersPerBlock + episode.number,
      .pattern = scenario.pattern};
  Holdings holdings;
  for (std::size_t i = 0; i < episode.plans.size(); ++i) {
    FraudPlan& plan = episode.plans[i];
    if (const int64_t time = ByDay(plan.time); time < world_->end()) plan.time = time;
    const Person person = world_->PersonOf(first_customer_ + plan.customer);
    if (modest) plan.amount = ModestAmount(*world_, person, draws);
    // A fraudster's device is limited to 1,000 BRL a day until it is trusted.
    if (plan.HasDevice() && plan.amount > 20'000) plan.amount = draws.Between(9'000, 20'000);
    const Mule& receiver = paid[i % paid.size()];
    if (receiver.local == plan.customer) continue;
    plan.receiver = first_customer_ + receiver.local;
    plan.link = Add(link);
    Holding& holding = holdings[receiver.local];
    holding.amount += plan.amount;
    holding.credit += plan.amount;
    holding.since = std::max(holding.since, plan.time);
  }
  const Mule payer = {.local = episode.plans.front().customer, .index = ~uint64_t{0}};
  uint8_t hop = 0;
  for (const Move& move : scenario.moves) {
    ++hop;
    std::vector<Mule> senders;
    std::vector<Mule> receivers;
    for (const Party party : move.from) {
      senders.insert(senders.end(), groups[party].begin(), groups[party].end());
    }
    for (const Party party : move.to) {
      if (party == kPayer) receivers.push_back(payer);
      if (party >= groups.size()) continue;
      receivers.insert(receivers.end(), groups[party].begin(), groups[party].end());
    }
    for (std::size_t i = 0; i < senders.size(); ++i) {
      // A single sender pays all receivers; several share them.
      std::vector<Mule> own;
      for (std::size_t k = 0; k < receivers.size(); ++k) {
        const bool mine =
            receivers.size() > senders.size() ? k % senders.size() == i : i % receivers.size() == k;
        if (mine && receivers[k].local != senders[i].local) own.push_back(receivers[k]);
      }
      PassOn(move, senders[i], own, hop, draws, holdings, episode);
    }
  }
}

// Passes on all that an account holds, in equal parts, or out of the bank if there are no
// receivers.
void FraudPlanner::PassOn(const Move& move, const Mule& from, std::span<const Mule> to, uint8_t hop,
                          Draws& draws, Holdings& holdings, Episode& episode) {
  const bool outside = move.to.front() == kOutside;
  const auto found = holdings.find(from.local);
  if (found == holdings.end() || (to.empty() && !outside)) return;
  Holding held = found->second;
  int64_t left = held.amount - held.amount * draws.Between(move.fee_thousandths) / 1'000;
  int64_t time = held.since +
                 draws.Between(move.delay_minutes.min * kMinute, move.delay_minutes.max * kMinute);
  const std::size_t parts = outside ? 1 : to.size();
  for (std::size_t i = 0; i < parts; ++i) {
    time = ByDay(time);
    const auto others = static_cast<int64_t>(parts - i);
    const int64_t amount = others == 1 ? left : left / others * draws.Between(850, 1'150) / 1'000;
    if (amount < kMinTransfer || time >= world_->end()) break;
    const ChainLink link = {
        .ring = kEpisodeRings + block_ * World::kFraudstersPerBlock + episode.number,
        .credit = held.credit,
        .hop = hop,
        .pattern = episode.scenario->pattern};
    AddTransfer(from, outside ? nullptr : &to[i], link, time, amount, draws, episode);
    left -= amount;
    held.credit = 0;
    if (!outside) {
      Holding& next = holdings[to[i].local];
      next.amount += amount;
      next.credit += amount;
      next.since = std::max(next.since, time);
    }
    time += draws.Between(kMinute, 6 * kMinute);
  }
  // What arrives later is passed on by a later move.
  Holding& rest = holdings[from.local];
  rest.amount = 0;
  rest.credit = held.credit;
}

void FraudPlanner::AddTransfer(const Mule& from, const Mule* to, const ChainLink& link,
                               int64_t time, int64_t amount, Draws& draws, Episode& episode) {
  FraudPlan plan;
  plan.time = time;
  plan.amount = amount;
  plan.key = draws.Bits();
  plan.customer = from.local;
  plan.scenario = episode.index;
  plan.role = FraudRole::kMuleHop;
  if (to != nullptr) {
    plan.receiver = first_customer_ + to->local;
  } else {
    CashOut(from.index, plan);
  }
  plan.link = Add(link);
  if (plan.kind == Kind::kPix && from.index < chains_->ActiveMules()) {
    plan.fraudster = RingDevice(from.index, plan.key >> 8);
  }
  episode.plans.push_back(plan);
}

}  // namespace reveza::fraudgen::coherent
