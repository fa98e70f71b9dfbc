// How the customers of each profile live, unless the configuration says otherwise.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "datagen/coherent/parameters.h"
#include "datagen/lists/profiles.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

std::size_t At(Kind kind) { return static_cast<std::size_t>(kind); }

// 70 % in the usual hours, the rest by the hours of everybody.
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

// Standing orders are planned by the month; what the lists leave out, everybody does now and then.
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
    const bool senior = static_cast<Profile>(i) == Profile::kTraditionalSenior;
    all[i] = {.weight = profile.weight,
              .least_age = number(profile.least_age),
              .most_age = number(profile.most_age),
              .least_income_percent = number(profile.least_income_percent),
              .most_income_percent = number(profile.most_income_percent),
              .least_rows_a_month = number(profile.least_monthly_transactions),
              .most_rows_a_month = number(profile.most_monthly_transactions),
              .weekend_percent = number(profile.weekend_percent),
              .susceptibility_percent = number(profile.susceptibility_percent),
              .least_amount = profile.least_amount * 100,
              .most_amount = profile.most_amount * 100,
              .mean_amount = kMeanAmount[i],
              .standing_orders_percent = profile.transaction_types[At(Kind::kAutoDebit)],
              .web_percent = profile.channels[1],
              .whatsapp_percent = profile.channels[4],
              .branch_percent = senior ? 35u : 0u,
              .least_devices = number(profile.least_devices),
              .most_devices = number(profile.most_devices),
              .kinds = KindsOf(profile),
              .hours = HoursOf(profile.preferred_hours)};
  }
  return all;
}

}  // namespace reveza::datagen::coherent
