#include "datagen/coherent/pix_share.h"

#include <numeric>

#include "datagen/coherent/calendar.h"

namespace reveza::datagen::coherent {
namespace {

constexpr uint64_t kMillion = 1'000'000;

std::size_t At(Kind kind) { return static_cast<std::size_t>(kind); }

// Of a million payments of somebody, those that no bank takes as a TED at that time.
uint64_t OutsideBankingHours(const ProfileHabits& profile) {
  const auto& hours = profile.hours;
  const uint64_t all = std::accumulate(hours.begin(), hours.end(), uint64_t{0});
  uint64_t open = 0;
  for (int64_t hour = kBankOpens; hour < kBankCloses; ++hour) {
    open += hours[static_cast<std::size_t>(hour)];
  }
  const auto weekend = uint64_t{profile.weekend_percent};
  return kMillion - kMillion * open / all * 500 / (500 + 2 * weekend);
}

}  // namespace

uint64_t HonestPixMillionths(const Parameters& parameters) {
  uint64_t rows = 0;
  uint64_t pix = 0;
  for (const ProfileHabits& profile : parameters.profiles) {
    const auto& kinds = profile.kinds;
    const uint64_t sum = std::accumulate(kinds.begin(), kinds.end(), uint64_t{0});
    const uint64_t late_teds = kinds[At(Kind::kTed)] * OutsideBankingHours(profile) / kMillion;
    // Half of what drifts away until the end.
    const uint64_t replaceable = kinds[At(Kind::kTed)] - late_teds + kinds[At(Kind::kDebitCard)] +
                                 kinds[At(Kind::kBoleto)] + kinds[At(Kind::kWithdrawal)];
    const uint64_t as_pix = kinds[At(Kind::kPix)] + late_teds +
                            replaceable * parameters.drift.to_pix_thousandths / 2'000;
    const uint64_t activity =
        uint64_t{profile.weight} * (profile.least_rows_a_month + profile.most_rows_a_month);
    const uint64_t drawn = 100 - profile.standing_orders_percent;
    rows += activity;
    pix += activity * (kMillion * as_pix / sum) * drawn / 100 / kMillion;
  }
  return rows == 0 ? 0 : kMillion * pix / rows;
}

uint64_t FraudPixMillionths(const Parameters& parameters) {
  uint64_t frauds = 0;
  uint64_t pix = 0;
  for (const Typology& typology : parameters.typologies) {
    const uint64_t kinds =
        std::accumulate(typology.kinds.begin(), typology.kinds.end(), uint64_t{0});
    if (kinds == 0) continue;
    frauds += typology.weight;
    pix += kMillion * typology.weight * typology.kinds[At(Kind::kPix)] / kinds;
  }
  return frauds == 0 ? 0 : pix / frauds;
}

}  // namespace reveza::datagen::coherent
