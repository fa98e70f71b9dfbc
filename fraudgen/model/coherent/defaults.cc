// The default behaviour of each kind of fraud and of each profile's customers.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "fraudgen/lists/profiles.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/parameters.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr auto kDefaults = std::to_array<Typology>({
#include "generated/fraudgen/lists/typologies.inc"
});
static_assert(kDefaults.size() == kFraudTypes);

}  // namespace

std::array<Typology, kFraudTypes> Parameters::DefaultTypologies() { return kDefaults; }

namespace {

// 70 % in the profile's preferred hours, the rest by the general weights.
std::array<uint32_t, 24> HoursOf(uint32_t usual) {
  uint32_t others = 0;
  for (std::size_t hour = 0; hour < 24; ++hour) {
    if ((usual >> hour & 1) == 0) others += lists::kTransactionHourWeights[hour];
  }
  std::array<uint32_t, 24> weights{};
  for (std::size_t hour = 0; hour < 24; ++hour) {
    weights[hour] = (usual >> hour & 1) != 0
                        ? 700'000u / static_cast<uint32_t>(std::popcount(usual))
                        : 300'000u * lists::kTransactionHourWeights[hour] / others;
  }
  return weights;
}

// Standing orders are planned by the month, so they have no weight; kinds without a weight in the
// lists get a small one.
std::array<uint32_t, kKinds> KindsOf(const lists::Profile& profile) {
  std::array<uint32_t, kKinds> kinds{};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    kinds[kind] = profile.transaction_types[kind] * 10;
  }
  kinds[At(Kind::kAutoDebit)] = 0;
  kinds[At(Kind::kMobileTopup)] += 15;
  kinds[At(Kind::kWithdrawal)] += 10;
  kinds[At(Kind::kBoleto)] += 15;
  return kinds;
}

}  // namespace

std::array<ProfileHabits, kProfiles> Parameters::DefaultProfiles() {
  constexpr std::array<int64_t, kProfiles> kMeanAmount = {9'000,   22'000, 90'000,
                                                          150'000, 9'000,  26'000};
  std::array<ProfileHabits, kProfiles> all{};
  for (std::size_t i = 0; i < kProfiles; ++i) {
    const lists::Profile& profile = lists::Profiles()[i];
    const auto number = [](int64_t value) { return static_cast<uint32_t>(value); };
    const auto numbers = [&](const Range<int64_t>& range) -> Range<uint32_t> {
      return {number(range.min), number(range.max)};
    };
    const bool senior = static_cast<Profile>(i) == Profile::kTraditionalSenior;
    all[i] = {.weight = profile.weight,
              .age = numbers(profile.age),
              .income_percent = numbers(profile.income_percent),
              .rows_a_month = numbers(profile.monthly_transactions),
              .weekend_percent = number(profile.weekend_percent),
              .susceptibility_percent = number(profile.susceptibility_percent),
              .amount = {profile.amount.min * 100, profile.amount.max * 100},
              .mean_amount = kMeanAmount[i],
              .standing_orders_percent = profile.transaction_types[At(Kind::kAutoDebit)],
              .web_percent = profile.channels[1],
              .whatsapp_percent = profile.channels[4],
              .branch_percent = senior ? 35u : 0u,
              .devices = numbers(profile.device_count),
              .kinds = KindsOf(profile),
              .hours = HoursOf(profile.preferred_hours)};
  }
  return all;
}

}  // namespace reveza::fraudgen::coherent
