#include "fraudgen/model/classic/world.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string_view>

#include "fraudgen/lists/places.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen::classic {
namespace {

constexpr std::array<std::string_view, 5> kOperatingStates = {"SP", "RJ", "MG", "BA", "DF"};

constexpr bool OperatesIn(std::size_t state) {
  return std::ranges::find(kOperatingStates, lists::kStates[state].code) != kOperatingStates.end();
}

constexpr uint64_t kWeightOfOperatingStates = [] {
  uint64_t weight = 0;
  for (std::size_t state = 0; state < lists::kStates.size(); ++state) {
    if (OperatesIn(state)) weight += lists::kStates[state].weight;
  }
  return weight;
}();
static_assert(kWeightOfOperatingStates > 0);

}  // namespace

// Allocates drivers to states by weight; cumulative rounding makes them add up.
Fleet::Fleet(uint64_t key, uint64_t drivers) : order_(key, drivers) {
  uint64_t weight = 0;
  for (std::size_t state = 0; state < lists::kStates.size(); ++state) {
    first_[state] = (drivers * weight + kWeightOfOperatingStates / 2) / kWeightOfOperatingStates;
    if (OperatesIn(state)) weight += lists::kStates[state].weight;
  }
  first_.back() = drivers;
}

uint32_t Fleet::StateOf(uint64_t driver) const {
  const auto next = std::ranges::upper_bound(first_, order_.At(driver));
  return static_cast<uint32_t>(next - first_.begin()) - 1;
}

uint64_t Fleet::DriverIn(uint32_t state, uint64_t bits) const {
  const uint64_t first = first_[state];
  const uint64_t count = first_[state + 1] - first;
  if (count == 0) return UpperProduct(bits, order_.size());
  return order_.IndexOf(first + UpperProduct(bits, count));
}

World::World(const Options& options, uint64_t customers, uint64_t drivers)
    : seed_(options.seed),
      customers_(customers),
      profiles_(options.profiles),
      identities_(options.identities),
      first_day_(DaysOf(options.start)),
      days_(static_cast<uint64_t>(DaysOf(options.end) - first_day_) + 1),
      as_of_(options.as_of),
      as_of_day_(DaysOf(options.as_of)),
      traits_(seed_, static_cast<uint32_t>(TableKey::kCustomers), 0),
      fleet_(FieldRandom(seed_, static_cast<uint32_t>(TableKey::kDrivers), 0).Bits(0), drivers),
      states_(lists::ChoiceOfRows(lists::kStates)),
      profile_choice_(lists::ChoiceOfRows(lists::Profiles())) {
  const auto profiles = lists::Profiles();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    device_counts_[i] = {.min = static_cast<uint32_t>(profiles[i].device_count.min),
                         .range = static_cast<uint32_t>(profiles[i].device_count.max -
                                                        profiles[i].device_count.min + 1)};
  }
}

// Rows that have to be redrawn are kept in a list: a branch per row would be unpredictable and a
// misprediction costs as much as several draws.
void World::DrawOwners(const FieldRandom& random, const BatchRows& rows,
                       std::span<Owner> owners) const {
  constexpr uint16_t kMaxDraws = 64;  // reached in one of 10^30 rows
  std::array<uint16_t, Batch::kMaxRows> waiting;
  std::array<uint64_t, Batch::kMaxRows> bits;
  std::array<uint64_t, Batch::kMaxRows> customers;
  assert(owners.size() <= waiting.size());
  std::iota(waiting.begin(), waiting.begin() + owners.size(), uint16_t{0});
  std::size_t count = owners.size();
  for (uint16_t draw = 0; draw < kMaxDraws && count > 0; ++draw) {
    rows.DrawAt(random, std::span(waiting).first(count), bits, draw);
    for (std::size_t i = 0; i < count; ++i) {
      const uint64_t number = UpperProduct(bits[i], customers_ * kMaxDevices);
      customers[i] = number / kMaxDevices;
      owners[waiting[i]].device = static_cast<uint32_t>(number % kMaxDevices);
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

}  // namespace reveza::fraudgen::classic
