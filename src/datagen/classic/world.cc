#include "datagen/classic/world.h"

#include <cassert>
#include <numeric>

#include "datagen/batch.h"
#include "datagen/lists/places.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::classic {
namespace {

constexpr uint32_t kTraitsField = 0;

WeightedChoice StateChoice() {
  const auto weights = lists::MemberOf<uint32_t>(lists::kStates, &lists::State::weight);
  return lists::ChoiceOf(weights);
}

WeightedChoice ProfileChoice() {
  std::vector<uint32_t> weights;
  for (const lists::Profile& profile : lists::Profiles()) weights.push_back(profile.weight);
  return lists::ChoiceOf(weights);
}

}  // namespace

World::World(const Options& options, uint64_t customers, uint64_t drivers)
    : seed_(options.seed),
      customers_(customers),
      drivers_(drivers),
      profiles_(options.profiles),
      identities_(options.identities),
      first_day_(DaysOf(options.start)),
      days_(static_cast<uint64_t>(DaysOf(options.end) - first_day_) + 1),
      as_of_(options.as_of),
      as_of_day_(DaysOf(options.as_of)),
      traits_(Random(TableKey::kCustomers, kTraitsField)),
      states_(StateChoice()),
      profile_choice_(ProfileChoice()) {
  const auto profiles = lists::Profiles();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    device_counts_[i] = {
        .least = static_cast<uint32_t>(profiles[i].least_devices),
        .range = static_cast<uint32_t>(profiles[i].most_devices - profiles[i].least_devices + 1)};
  }
}

// Those who have to draw again are kept in a list: whether a row is one of them cannot be foreseen
// by the processor, and a wrong guess would cost as much as several draws.
void World::DrawOwners(const FieldRandom& random, const BatchRows& rows,
                       std::span<Owner> owners) const {
  constexpr uint16_t kMostDraws = 64;  // reached in one of 10^30 rows
  std::array<uint16_t, Batch::kMaxRows> waiting;
  std::array<uint64_t, Batch::kMaxRows> bits;
  std::array<uint64_t, Batch::kMaxRows> customers;
  assert(owners.size() <= waiting.size());
  std::iota(waiting.begin(), waiting.begin() + owners.size(), uint16_t{0});
  std::size_t count = owners.size();
  for (uint16_t draw = 0; draw < kMostDraws && count > 0; ++draw) {
    rows.DrawAt(random, std::span(waiting).first(count), bits, draw);
    for (std::size_t i = 0; i < count; ++i) {
      const uint64_t number = UpperProduct(bits[i], customers_ * kMostDevices);
      customers[i] = number / kMostDevices;
      owners[waiting[i]].device = static_cast<uint32_t>(number % kMostDevices);
    }
    traits_.FillAt(std::span(customers).first(count), bits);
    std::size_t again = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const uint16_t index = waiting[i];
      Owner& owner = owners[index];
      owner.customer = customers[i];
      owner.traits = TraitsFrom(bits[i]);
      waiting[again] = index;
      again += owner.device >= owner.traits.devices ? 1 : 0;
    }
    count = again;
  }
  for (std::size_t i = 0; i < count; ++i) owners[waiting[i]].device = 0;
}

std::vector<WeightedChoice> ChoicesOfProfiles(
    const std::array<std::vector<uint32_t>, World::kProfileRows>& weights) {
  std::vector<WeightedChoice> choices;
  choices.reserve(weights.size());
  for (const std::vector<uint32_t>& row : weights) choices.push_back(lists::ChoiceOf(row));
  return choices;
}

}  // namespace reveza::datagen::classic
