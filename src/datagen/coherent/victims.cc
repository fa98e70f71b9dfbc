#include "datagen/coherent/victims.h"

#include <algorithm>
#include <cstdlib>

namespace reveza::datagen::coherent {
namespace {

constexpr uint64_t kCandidates = 3;
// However many frauds there are, no account bears many more than these.
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
  candidates_ = std::clamp<uint64_t>(customers_, 1, kCandidates);
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

// Nobody is a candidate of two bursts until all have been one.
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
      span, draws.Between(int64_t{victims.least_days} * kDay, int64_t{victims.most_days} * kDay));
  // One after the other: each begins in its part of the time.
  const auto middle =
      static_cast<int64_t>((static_cast<__int128>(span) * index +
                            static_cast<__int128>(draws.Below(static_cast<uint64_t>(span)))) /
                           tier.bursts);
  const int64_t from = world_->begin() + std::clamp<int64_t>(middle - length / 2, 0, span - length);
  Burst burst;
  for (uint64_t i = 0; i < candidates_; ++i) {
    const uint64_t local = Candidate(group, i);
    const Person person = world_->PersonOf(world_->FirstCustomer(block_) + local);
    const bool last = i + 1 == candidates_;
    if (!last && (mules_->Has(local) || !Susceptible(*world_, person.profile, draws))) continue;
    burst = {.local = local,
             .from = std::max(from, person.opened_at),
             .until = std::min(from + length, person.closes_at)};
    if (burst.until - burst.from >= kDay) break;
    // Of the last one that there is: as soon as there is an account, or as long as there is one.
    burst.from = std::clamp(from, std::min(person.opened_at, world_->end() - 1),
                            std::max(person.opened_at, person.closes_at - length));
    burst.until = std::min({burst.from + length, person.closes_at, world_->end()});
  }
  return burst;
}

Burst Victims::Any(int32_t drift_thousandths, Draws& draws) const {
  const Tier& tier = AnyTier(draws);
  uint64_t index = draws.Below(tier.bursts);
  // The later of two is as often late as it is not early, so it is a share that rises.
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
  const int64_t half =
      std::min<int64_t>(span, int64_t{world_->parameters().victims.most_days} * kDay) / 2;
  for (int i = 0; i < kTries; ++i) {
    const Tier& tier = AnyTier(draws);
    const auto index_at = [&](int64_t time) {
      const int64_t part = std::clamp<int64_t>(time - world_->begin(), 0, span - 1);
      return static_cast<int64_t>(static_cast<__int128>(part) * tier.bursts / span);
    };
    const auto index = draws.Between(index_at(from - half), index_at(until + half));
    const Burst burst = At(tier, static_cast<uint64_t>(index));
    if (burst.from > from || burst.until < until || mules_->Has(burst.local)) continue;
    const Person person = world_->PersonOf(world_->FirstCustomer(block_) + burst.local);
    if (person.opened_at < world_->begin() && person.closes_at == kForever) return burst;
  }
  return std::nullopt;
}

}  // namespace reveza::datagen::coherent
