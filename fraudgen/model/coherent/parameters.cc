#include "fraudgen/model/coherent/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <string_view>

#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr uint64_t kPartsPerMillion = 1'000'000;

// Returns the payments outside banking hours, which cannot be a TED, in millionths.
uint64_t OutsideBankingHours(const ProfileHabits& profile) {
  const auto& hours = profile.hours;
  const uint64_t all = std::accumulate(hours.begin(), hours.end(), uint64_t{0});
  uint64_t open = 0;
  for (int64_t hour = kBankOpens; hour < kBankCloses; ++hour) {
    open += hours[static_cast<std::size_t>(hour)];
  }
  const auto weekend = uint64_t{profile.weekend_percent};
  return kPartsPerMillion - kPartsPerMillion * open / all * 500 / (500 + 2 * weekend);
}

}  // namespace

uint64_t HonestPixMillionths(const Parameters& parameters) {
  uint64_t rows = 0;
  uint64_t pix = 0;
  for (const ProfileHabits& profile : parameters.profiles) {
    const auto& kinds = profile.kinds;
    const uint64_t sum = std::accumulate(kinds.begin(), kinds.end(), uint64_t{0});
    const uint64_t late_teds =
        kinds[At(Kind::kTed)] * OutsideBankingHours(profile) / kPartsPerMillion;
    // On average, half of what has drifted by the end.
    const uint64_t replaceable = kinds[At(Kind::kTed)] - late_teds + kinds[At(Kind::kDebitCard)] +
                                 kinds[At(Kind::kBoleto)] + kinds[At(Kind::kWithdrawal)];
    const uint64_t as_pix = kinds[At(Kind::kPix)] + late_teds +
                            replaceable * parameters.drift.to_pix_thousandths / 2'000;
    const uint64_t activity =
        uint64_t{profile.weight} * (profile.rows_a_month.min + profile.rows_a_month.max);
    const uint64_t drawn = 100 - profile.standing_orders_percent;
    rows += activity;
    pix += activity * (kPartsPerMillion * as_pix / sum) * drawn / 100 / kPartsPerMillion;
  }
  return rows == 0 ? 0 : kPartsPerMillion * pix / rows;
}

uint64_t FraudPixMillionths(const Parameters& parameters) {
  uint64_t frauds = 0;
  uint64_t pix = 0;
  for (const Typology& typology : parameters.typologies) {
    const uint64_t kinds =
        std::accumulate(typology.kinds.begin(), typology.kinds.end(), uint64_t{0});
    if (kinds == 0) continue;
    frauds += typology.weight;
    pix += kPartsPerMillion * typology.weight * typology.kinds[At(Kind::kPix)] / kinds;
  }
  return frauds == 0 ? 0 : pix / frauds;
}

namespace {

// All rows of a block may fall into one month; see EventOrder::kMaxEvents.
constexpr int64_t kMaxRowsPerBlock = 4'000'000;
// Leaves enough CPF numbers for the drivers in addition to the customers.
constexpr uint64_t kMaxRides = 10'000'000'000;
constexpr int64_t kMillion = 1'000'000;
constexpr int64_t kMaxMoney = 100'000'000;
constexpr int64_t kAny = UINT32_MAX;

bool AreWeights(std::span<const uint32_t> weights) {
  const uint64_t sum = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  return sum != 0 && sum < uint64_t{1} << 32;
}

// A parameter, or both ends of a range, and the valid numbers.
struct Bound {
  Bound(std::string_view name, int64_t value, int64_t min_valid, int64_t max_valid)
      : names(name), value{value, value}, min(min_valid), max(max_valid) {}
  template <typename Number>
  Bound(std::string_view name, const Range<Number>& range, int64_t min_valid, int64_t max_valid)
      : names(fmt::format("least_{0} and most_{0}", name)),
        must("be in order and from"),
        value{range.min, range.max},
        min(min_valid),
        max(max_valid) {}

  std::string names;
  std::string_view must = "be from";
  Range<int64_t> value;
  int64_t min;
  int64_t max;
};

Status CheckBounds(std::string_view of, std::initializer_list<Bound> bounds) {
  for (const Bound& bound : bounds) {
    if (bound.value.min >= bound.min && bound.value.max >= bound.value.min &&
        bound.value.max <= bound.max) {
      continue;
    }
    return InvalidArgument("{} of {} must {} {} to {}", bound.names, of, bound.must, bound.min,
                           bound.max);
  }
  return {};
}

Status CheckProfile(const ProfileHabits& profile, std::string_view name) {
  if (!AreWeights(profile.kinds) || !AreWeights(profile.hours)) {
    return InvalidArgument("kinds and hours of {} must have a weight above 0, and a sum below 2^32",
                           name);
  }
  return CheckBounds(name, {{"age", profile.age, 18, 100},
                            {"income_percent", profile.income_percent, 1, 10'000},
                            {"rows_a_month", profile.rows_a_month, 1, 10'000},
                            {"amount", profile.amount, 100, kMaxMoney},
                            {"devices", profile.devices, 1, 8},
                            {"weekend_percent", profile.weekend_percent, 0, 1'000},
                            {"susceptibility_percent", profile.susceptibility_percent, 0, 150},
                            {"mean_amount", profile.mean_amount, 100, kMaxMoney},
                            {"standing_orders_percent", profile.standing_orders_percent, 0, 100},
                            {"web_percent", profile.web_percent, 0, 100},
                            {"whatsapp_percent", profile.whatsapp_percent, 0,
                             100 - std::min<int64_t>(100, profile.web_percent)},
                            {"branch_percent", profile.branch_percent, 0, 100}});
}

Status CheckProfiles(const Parameters& parameters) {
  for (std::size_t i = 0; i < kProfiles; ++i) {
    RETURN_IF_ERROR(CheckProfile(parameters.profiles[i], kProfileNames[i]));
  }
  if (AreWeights(lists::WeightsOf(parameters.profiles))) return {};
  return InvalidArgument(
      "the weights of the profiles (habits) must not all be 0, with a sum below 2^32");
}

Status CheckCalendar(const CalendarParameters& calendar) {
  for (const uint32_t month : calendar.months) {
    RETURN_IF_ERROR(CheckBounds("the calendar", {{"a month", month, 1, 1'000}}));
  }
  for (const uint32_t payday : calendar.paydays) {
    RETURN_IF_ERROR(CheckBounds("the calendar", {{"a payday", payday, 1, 31}}));
  }
  return CheckBounds("the calendar", {{"payday_percent", calendar.payday_percent, 1, 1'000},
                                      {"payday_days", calendar.payday_days, 0, 31},
                                      {"christmas_percent", calendar.christmas_percent, 1, 1'000},
                                      {"spree_percent", calendar.spree_percent, 1, 1'000}});
}

Status CheckScale(const DifficultyScale& scale) {
  return CheckBounds("the difficulty_scale",
                     {{"overlap_thousandths", scale.overlap_thousandths, 0, 1'000},
                      {"lookalikes_thousandths", scale.lookalikes_thousandths, 0, 10'000},
                      {"missed", scale.missed, 0, kMillion},
                      {"falsely_reported", scale.falsely_reported, 0, kMillion}});
}

Status CheckBank(const Limits& limits, const Outcomes& outcomes) {
  RETURN_IF_ERROR(
      CheckBounds("the limits", {{"pix_night", limits.pix_night, 0, kMaxMoney},
                                 {"untrusted_pix", limits.untrusted_pix, 0, kMaxMoney},
                                 {"untrusted_pix_day", limits.untrusted_pix_day, 0, kMaxMoney},
                                 {"trusted_after_hours", limits.trusted_after_hours, 0, 10'000}}));
  return CheckBounds(
      "the outcomes",
      {{"pending", outcomes.pending, 0, kMillion},
       {"returned", outcomes.returned, 0, kMillion},
       {"typed_card_reversed", outcomes.typed_card_reversed, 0, kMillion},
       {"card_reversed", outcomes.card_reversed, 0, kMillion},
       {"shop_pix_reversed", outcomes.shop_pix_reversed, 0, kMillion},
       {"person_pix_reversed", outcomes.person_pix_reversed, 0, kMillion},
       {"med_refunded_percent", outcomes.med_refunded_percent, 0, 100},
       {"med_partly_refunded_percent", outcomes.med_partly_refunded_percent, 0,
        100 - std::min<int64_t>(100, outcomes.med_refunded_percent)},
       {"chargeback_refunded_percent", outcomes.chargeback_refunded_percent, 0, 100},
       {"first_party_refunded_percent", outcomes.first_party_refunded_percent, 0, 100}});
}

Status CheckPopulation(const Population& population) {
  if (!AreWeights(population.pix_keys)) {
    return InvalidArgument("pix_keys of the population must have a weight above 0");
  }
  return CheckBounds("the population",
                     {{"joining", population.joining, 0, kMillion},
                      {"pix_to_shops", population.pix_to_shops, 0, kMillion},
                      {"contacts_inside", population.contacts_inside, 0, kMillion},
                      {"travel_goods", population.travel_goods, 0, kMillion}});
}

Status CheckTypology(const Typology& typology, std::string_view name) {
  RETURN_IF_ERROR(
      CheckBounds(name, {{"rows", typology.rows, 1, 16},
                         {"gap_minutes", typology.gap_minutes, 1, 10'000},
                         {"test_rows", typology.test_rows, 0, int64_t{typology.rows.min} - 1},
                         {"report_hours", typology.report_hours, 1, kAny},
                         {"reported_thousandths", typology.reported_thousandths, 0, 1'000},
                         {"drift_thousandths", typology.drift_thousandths, -1'000, 1'000}}));
  const auto require = [&](bool met, std::string_view what, std::string_view rule) -> Status {
    if (met) return {};
    return InvalidArgument("{} of {} must {}", what, name, rule);
  };
  const Range<uint32_t>& income = typology.income_thousandths;
  const Range<int64_t>& amount = typology.amount;
  RETURN_IF_ERROR(
      require(AreWeights(typology.kinds), "kinds", "have a weight above 0, and a sum below 2^32"));
  RETURN_IF_ERROR(require(!typology.chains || (typology.kinds[0] != 0 && typology.rows.min <= 3),
                          "chains",
                          "be false unless PIX is among its kinds and least_rows at most 3"));
  RETURN_IF_ERROR(require(income.max >= income.min && amount.max >= amount.min && amount.min >= 0 &&
                              (amount.max != 0 || income.max != 0),
                          "the amounts", "be in order and not all 0"));
  RETURN_IF_ERROR(require(amount.max == 0 || income.max == 0, "the amounts",
                          "be a part of the income or in cents, not both: one of most_amount and "
                          "most_income_thousandths must be 0"));
  return require(!typology.web || typology.device == DeviceUse::kFraudster, "web",
                 "be false unless the fraudster's device is used (device thief)");
}

// The customers, blocks and period.
Status CheckSize(const Parameters& parameters) {
  RETURN_IF_ERROR(CheckBounds(
      "the data set",
      {{"rows_per_block", static_cast<int64_t>(parameters.rows_per_block), 1, kMaxRowsPerBlock},
       {"customers", static_cast<int64_t>(parameters.customers), 0, 50'000'000}}));
  for (const auto& [name, rows, max] : {std::tuple("rows", parameters.rows, BlockPlan::kMaxRows),
                                        std::tuple("rides", parameters.rides, kMaxRides)}) {
    if (rows > max) {
      return InvalidArgument("{} {}; at most {} are supported", rows, name, max);
    }
    // Every block has at least one customer.
    if (parameters.customers != 0 && rows / parameters.customers >= kMaxRowsPerBlock) {
      return InvalidArgument("{} {} need at least {} customers", rows, name,
                             rows / kMaxRowsPerBlock + 1);
    }
  }
  if (parameters.last_day < parameters.first_day) {
    return InvalidArgument("the last day is before the first");
  }
  if (parameters.first_day < DaysOf({1970, 1, 1}) || parameters.last_day >= DaysOf({2150, 1, 1}) ||
      parameters.last_day - parameters.first_day > 366 * 20) {
    return InvalidArgument("the period must lie within 1970 to 2149 and span at most 20 years");
  }
  if (parameters.growing && (parameters.customers == 0 || parameters.rides != 0)) {
    return InvalidArgument("growing data need a number of customers and no rides");
  }
  if (parameters.growing && parameters.last_day - parameters.first_day >= kGrowingDays) {
    return InvalidArgument(
        "customers without rows support at most {} days; set the number of rows for a longer "
        "period",
        kGrowingDays);
  }
  if (parameters.frauds.billionths > Share::kWhole / 2) {
    return InvalidArgument(
        "fraud_rate must be at most 0.5: at most half of the coherent model's rows can be frauds; "
        "use the classic model");
  }
  if (parameters.difficulty > 1000) return InvalidArgument("difficulty must be from 0 to 1");
  return {};
}

}  // namespace

Status Validate(const Parameters& parameters) {
  RETURN_IF_ERROR(CheckSize(parameters));
  RETURN_IF_ERROR(CheckProfiles(parameters));
  RETURN_IF_ERROR(CheckCalendar(parameters.calendar));
  RETURN_IF_ERROR(CheckScale(parameters.difficulty_scale));
  RETURN_IF_ERROR(CheckBank(parameters.limits, parameters.outcomes));
  RETURN_IF_ERROR(CheckPopulation(parameters.population));
  for (std::size_t i = 0; i < kFraudTypes; ++i) {
    RETURN_IF_ERROR(CheckTypology(parameters.typologies[i], kFraudTypeNames[i]));
  }
  if (!AreWeights(lists::WeightsOf(parameters.typologies))) {
    return InvalidArgument(
        "the weights of the kinds of fraud must not all be 0, with a sum below 2^32");
  }
  if (parameters.frauds_of_pix && FraudPixMillionths(parameters) == 0) {
    return InvalidArgument(
        "a fraud rate of the PIX rows requires a kind of fraud with PIX among its kinds");
  }
  if (!AreWeights(parameters.ride_frauds)) {
    return InvalidArgument("the weights of ride_frauds must not all be 0, with a sum below 2^32");
  }
  const ChainParameters& chains = parameters.chains;
  RETURN_IF_ERROR(
      CheckBounds("the chains", {{"hops", chains.hops, 1, 6},
                                 {"delay_minutes", chains.delay_minutes, 0, 30},
                                 {"fee_thousandths", chains.fee_thousandths, 0, 200},
                                 {"mules_thousandths", chains.mules_thousandths, 0, 90},
                                 {"most_share_thousandths", chains.most_share_thousandths, 0, 800},
                                 {"hops_of_a_mule", chains.hops_of_a_mule, 1, kAny},
                                 {"mules_of_a_ring", chains.mules_of_a_ring, 1, kAny}}));
  RETURN_IF_ERROR(CheckBounds(
      "the lookalikes", {{"shared_device", parameters.lookalikes.shared_device, 0, 750'000}}));
  const VictimParameters& victims = parameters.victims;
  RETURN_IF_ERROR(CheckBounds(
      "the victims", {{"few_thousandths", victims.few_thousandths, 1, 1'000},
                      {"others_thousandths", victims.others_thousandths, 0, 1'000},
                      {"share_of_few_thousandths", victims.share_of_few_thousandths, 0, 1'000},
                      {"days", victims.days, 2, 365}}));
  const LifeChanges& changes = parameters.changes;
  RETURN_IF_ERROR(
      CheckBounds("the changes", {{"address", changes.address, 0, kMillion},
                                  {"email", changes.email, 0, kMillion},
                                  {"income", changes.income, 0, kMillion},
                                  {"credit_limit", changes.credit_limit, 0, kMillion},
                                  {"pix_key", changes.pix_key, 0, kMillion},
                                  {"closed_thousandths", changes.closed_thousandths, 0, 1'000}}));
  const Drift& drift = parameters.drift;
  return CheckBounds("the drift",
                     {{"amounts_thousandths", drift.amounts_thousandths, -900, 10'000},
                      {"to_pix_thousandths", drift.to_pix_thousandths, 0, 1'000},
                      {"to_mobile_thousandths", drift.to_mobile_thousandths, 0, 1'000}});
}

}  // namespace reveza::fraudgen::coherent
