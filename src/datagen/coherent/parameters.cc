#include "datagen/coherent/parameters.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datagen/civil_time.h"
#include "datagen/coherent/pix_share.h"

namespace reveza::datagen::coherent {
namespace {

// So many rows may fall into one month.
constexpr uint64_t kMostRowsOfBlock = 4'000'000;
// Their drivers must have numbers of taxpayers beside the customers.
constexpr uint64_t kMostRides = 10'000'000'000;
constexpr int64_t kMillion = 1'000'000;

Status Invalid(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

uint64_t Sum(std::span<const uint32_t> weights) {
  return std::accumulate(weights.begin(), weights.end(), uint64_t{0});
}

bool AreWeights(std::span<const uint32_t> weights) {
  const uint64_t sum = Sum(weights);
  return sum != 0 && sum < uint64_t{1} << 32;
}

Status CheckRange(std::string_view least_key, int64_t least, std::string_view most_key,
                  int64_t most, int64_t from, int64_t to, const std::string& of) {
  if (least >= from && most >= least && most <= to) return {};
  const std::string keys = most_key.empty()
                               ? std::string(least_key)
                               : std::string(least_key) + " and " + std::string(most_key);
  return Invalid(keys + of + " should be " + (most_key.empty() ? "" : "in order, ") + "from " +
                 std::to_string(from) + " to " + std::to_string(to));
}

struct Bound {
  std::string_view key;
  int64_t value;
  int64_t least;
  int64_t most;
};

Status CheckBounds(std::initializer_list<Bound> bounds, const std::string& of) {
  for (const Bound& bound : bounds) {
    const Status status =
        CheckRange(bound.key, bound.value, "", bound.value, bound.least, bound.most, of);
    if (!status) return status;
  }
  return {};
}

Status CheckProfile(const ProfileHabits& profile, std::string_view name) {
  constexpr int64_t kMostMoney = 100'000'000;
  const std::string of = " of " + std::string(name);
  struct Pair {
    std::string_view least_key;
    int64_t least;
    std::string_view most_key;
    int64_t most;
    int64_t from;
    int64_t to;
  };
  for (const Pair& pair : std::initializer_list<Pair>{
           {"least_age", profile.least_age, "most_age", profile.most_age, 18, 100},
           {"least_income_percent", profile.least_income_percent, "most_income_percent",
            profile.most_income_percent, 1, 10'000},
           {"least_rows_a_month", profile.least_rows_a_month, "most_rows_a_month",
            profile.most_rows_a_month, 1, 10'000},
           {"least_amount", profile.least_amount, "most_amount", profile.most_amount, 100,
            kMostMoney},
           {"least_devices", profile.least_devices, "most_devices", profile.most_devices, 1, 8}}) {
    const Status status =
        CheckRange(pair.least_key, pair.least, pair.most_key, pair.most, pair.from, pair.to, of);
    if (!status) return status;
  }
  if (!AreWeights(profile.kinds) || !AreWeights(profile.hours)) {
    return Invalid("kinds and hours" + of + " should have a weight above 0, and a sum below 2^32");
  }
  return CheckBounds({{"weekend_percent", profile.weekend_percent, 0, 1'000},
                      {"susceptibility_percent", profile.susceptibility_percent, 0, 150},
                      {"mean_amount", profile.mean_amount, 100, kMostMoney},
                      {"standing_orders_percent", profile.standing_orders_percent, 0, 100},
                      {"web_percent", profile.web_percent, 0, 100},
                      {"whatsapp_percent", profile.whatsapp_percent, 0,
                       100 - std::min<int64_t>(100, profile.web_percent)},
                      {"branch_percent", profile.branch_percent, 0, 100}},
                     of);
}

Status CheckProfiles(const Parameters& parameters) {
  std::vector<uint32_t> weights;
  for (std::size_t i = 0; i < kProfiles; ++i) {
    const ProfileHabits& profile = parameters.profiles[i];
    if (const Status status = CheckProfile(profile, kProfileNames[i]); !status) return status;
    weights.push_back(profile.weight);
  }
  if (AreWeights(weights)) return {};
  return Invalid(
      "the weights of the profiles (habits) should not all be 0, and their sum below 2^32");
}

Status CheckCalendar(const CalendarParameters& calendar) {
  for (const uint32_t month : calendar.months) {
    const Status status = CheckBounds({{"a month", month, 1, 1'000}}, " of the calendar");
    if (!status) return status;
  }
  for (const uint32_t payday : calendar.paydays) {
    const Status status = CheckBounds({{"a payday", payday, 1, 31}}, " of the calendar");
    if (!status) return status;
  }
  return CheckBounds({{"payday_percent", calendar.payday_percent, 1, 1'000},
                      {"payday_days", calendar.payday_days, 0, 31},
                      {"christmas_percent", calendar.christmas_percent, 1, 1'000},
                      {"spree_percent", calendar.spree_percent, 1, 1'000}},
                     " of the calendar");
}

Status CheckScale(const DifficultyScale& scale) {
  const std::string of = " of the difficulty_scale";
  Status status =
      CheckRange("least_overlap_thousandths", scale.least_overlap_thousandths,
                 "most_overlap_thousandths", scale.most_overlap_thousandths, 0, 1'000, of);
  if (status) {
    status =
        CheckRange("least_lookalikes_thousandths", scale.least_lookalikes_thousandths,
                   "most_lookalikes_thousandths", scale.most_lookalikes_thousandths, 0, 10'000, of);
  }
  if (status) {
    status = CheckRange("least_missed", scale.least_missed, "most_missed", scale.most_missed, 0,
                        kMillion, of);
  }
  if (!status) return status;
  return CheckRange("least_falsely_reported", scale.least_falsely_reported, "most_falsely_reported",
                    scale.most_falsely_reported, 0, kMillion, of);
}

Status CheckBank(const Limits& limits, const Outcomes& outcomes) {
  constexpr int64_t kMostMoney = 100'000'000;
  Status status = CheckBounds({{"pix_night", limits.pix_night, 0, kMostMoney},
                               {"untrusted_pix", limits.untrusted_pix, 0, kMostMoney},
                               {"untrusted_pix_day", limits.untrusted_pix_day, 0, kMostMoney},
                               {"trusted_after_hours", limits.trusted_after_hours, 0, 10'000}},
                              " of the limits");
  if (!status) return status;
  return CheckBounds(
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
       {"first_party_refunded_percent", outcomes.first_party_refunded_percent, 0, 100}},
      " of the outcomes");
}

Status CheckPopulation(const Population& population) {
  if (!AreWeights(population.pix_keys)) {
    return Invalid("pix_keys of the population should have a weight above 0");
  }
  return CheckBounds({{"joining", population.joining, 0, kMillion},
                      {"pix_to_shops", population.pix_to_shops, 0, kMillion},
                      {"contacts_inside", population.contacts_inside, 0, kMillion},
                      {"travel_goods", population.travel_goods, 0, kMillion}},
                     " of the population");
}

Status CheckTypology(const Typology& typology, std::string_view name) {
  const std::string of = " of " + std::string(name);
  if (typology.least_rows < 1 || typology.most_rows < typology.least_rows ||
      typology.most_rows > 16) {
    return Invalid("least_rows and most_rows" + of + " should be in order, from 1 to 16");
  }
  if (typology.most_gap_minutes < typology.least_gap_minutes || typology.least_gap_minutes < 1 ||
      typology.most_gap_minutes > 10'000) {
    return Invalid("least_gap_minutes and most_gap_minutes" + of +
                   " should be in order, from 1 to 10000");
  }
  if (typology.test_rows >= typology.least_rows) {
    return Invalid("test_rows" + of + " should be below least_rows");
  }
  uint64_t kinds = 0;
  for (const uint32_t weight : typology.kinds) kinds += weight;
  if (kinds == 0 || kinds >= uint64_t{1} << 32) {
    return Invalid("kinds" + of + " should have a weight above 0, and a sum below 2^32");
  }
  if (typology.chains && (typology.kinds[0] == 0 || typology.least_rows > 3)) {
    return Invalid("chains" + of + " need PIX among its kinds and least_rows up to 3");
  }
  if (typology.most_income_thousandths < typology.least_income_thousandths ||
      typology.most_amount < typology.least_amount || typology.least_amount < 0 ||
      (typology.most_amount == 0 && typology.most_income_thousandths == 0)) {
    return Invalid("the amounts" + of + " should be in order and not all 0");
  }
  if (typology.most_amount != 0 && typology.most_income_thousandths != 0) {
    return Invalid("the amounts" + of +
                   " should be a part of the income or in cents, not both: one of most_amount and "
                   "most_income_thousandths should be 0");
  }
  if (typology.web && typology.device != DeviceUse::kThief) {
    return Invalid("web" + of +
                   " is for the devices of thieves: it should be false, or device thief");
  }
  if (typology.report_hours < 1 || typology.reported_thousandths > 1000) {
    return Invalid("report_hours" + of +
                   " should be at least 1, reported_thousandths at most 1000");
  }
  if (typology.drift_thousandths < -1000 || typology.drift_thousandths > 1000) {
    return Invalid("drift_thousandths" + of + " should be from -1000 to 1000");
  }
  return {};
}

Status CheckVictims(const VictimParameters& victims) {
  const std::string of = " of the victims";
  const Status status =
      CheckBounds({{"few_thousandths", victims.few_thousandths, 1, 1'000},
                   {"others_thousandths", victims.others_thousandths, 0, 1'000},
                   {"share_of_few_thousandths", victims.share_of_few_thousandths, 0, 1'000}},
                  of);
  if (!status) return status;
  return CheckRange("least_days", victims.least_days, "most_days", victims.most_days, 2, 365, of);
}

Status CheckChanges(const LifeChanges& changes) {
  return CheckBounds({{"address", changes.address, 0, kMillion},
                      {"email", changes.email, 0, kMillion},
                      {"income", changes.income, 0, kMillion},
                      {"credit_limit", changes.credit_limit, 0, kMillion},
                      {"pix_key", changes.pix_key, 0, kMillion},
                      {"closed_thousandths", changes.closed_thousandths, 0, 1'000}},
                     " of the changes");
}

Status CheckDrift(const Drift& drift) {
  if (drift.amounts_thousandths < -900 || drift.amounts_thousandths > 10'000) {
    return Invalid("amounts_thousandths of the drift should be from -900 to 10000");
  }
  if (drift.to_pix_thousandths > 1000 || drift.to_mobile_thousandths > 1000) {
    return Invalid("to_pix_thousandths and to_mobile_thousandths should be from 0 to 1000");
  }
  return {};
}

}  // namespace

Status Check(const Parameters& parameters) {
  if (parameters.rows > BlockPlan::kMaxRows) {
    return Invalid(std::to_string(parameters.rows) + " rows are more than " +
                   std::to_string(BlockPlan::kMaxRows));
  }
  if (parameters.rows_per_block < 1 || parameters.rows_per_block > kMostRowsOfBlock) {
    return Invalid("a block should have 1 to 4000000 rows");
  }
  // A block has at least one customer.
  if (parameters.customers != 0 && parameters.rows / parameters.customers >= kMostRowsOfBlock) {
    return Invalid(std::to_string(parameters.rows) + " rows need at least " +
                   std::to_string(parameters.rows / kMostRowsOfBlock + 1) + " customers");
  }
  if (parameters.last_day < parameters.first_day) {
    return Invalid("the last day is before the first; swap them");
  }
  if (parameters.first_day < DaysOf({1970, 1, 1}) || parameters.last_day >= DaysOf({2150, 1, 1}) ||
      parameters.last_day - parameters.first_day > 366 * 20) {
    return Invalid("the days should be from 1970 to 2149 and span at most 20 years");
  }
  if (parameters.growing && (parameters.customers == 0 || parameters.rides != 0)) {
    return Invalid("rows follow from the customers only where those are said, and not for rides");
  }
  if (parameters.growing && parameters.last_day - parameters.first_day >= kGrowingDays) {
    return Invalid("customers without rows are for at most " + std::to_string(kGrowingDays) +
                   " days; say the rows, too");
  }
  if (parameters.customers > 50'000'000) return Invalid("there are at most 50000000 customers");
  if (parameters.frauds.billionths > Share::kWhole / 2) {
    return Invalid(
        "a fraud_rate above 0.5 is for the classic model: at most half of the coherent rows can be "
        "frauds");
  }
  if (parameters.difficulty > 1000) return Invalid("difficulty is from 0 to 1");
  if (const Status status = CheckProfiles(parameters); !status) return status;
  if (const Status status = CheckCalendar(parameters.calendar); !status) return status;
  if (const Status status = CheckScale(parameters.difficulty_scale); !status) return status;
  if (const Status status = CheckBank(parameters.limits, parameters.outcomes); !status) {
    return status;
  }
  if (const Status status = CheckPopulation(parameters.population); !status) return status;
  uint64_t weights = 0;
  for (std::size_t i = 0; i < kFraudTypes; ++i) {
    if (const Status status = CheckTypology(parameters.typologies[i], kFraudTypeNames[i]);
        !status) {
      return status;
    }
    weights += parameters.typologies[i].weight;
  }
  if (weights == 0 || weights >= uint64_t{1} << 32) {
    return Invalid("the weights of the kinds of fraud should not all be 0");
  }
  if (parameters.frauds_of_pix && FraudPixMillionths(parameters) == 0) {
    return Invalid("a share of the PIX needs a kind of fraud with PIX among its kinds");
  }
  const ChainParameters& chains = parameters.chains;
  if (chains.least_hops < 1 || chains.most_hops < chains.least_hops || chains.most_hops > 6 ||
      chains.most_delay_minutes < chains.least_delay_minutes || chains.most_delay_minutes > 30 ||
      chains.most_fee_thousandths < chains.least_fee_thousandths ||
      chains.most_fee_thousandths > 200 || chains.mules_thousandths > 90 ||
      chains.most_share_thousandths > 800 || chains.hops_of_a_mule < 1 ||
      chains.mules_of_a_ring < 1) {
    return Invalid(
        "chains should have 1 to 6 hops, delays up to 30 minutes, fees up to 0.2, mules up to 0.09 "
        "of the customers and most_share up to 0.8");
  }
  if (parameters.rides > kMostRides) {
    return Invalid(std::to_string(parameters.rides) + " rides are more than " +
                   std::to_string(kMostRides));
  }
  if (parameters.customers != 0 && parameters.rides / parameters.customers >= kMostRowsOfBlock) {
    return Invalid(std::to_string(parameters.rides) + " rides need at least " +
                   std::to_string(parameters.rides / kMostRowsOfBlock + 1) + " customers");
  }
  if (Sum(parameters.ride_frauds) == 0 || Sum(parameters.ride_frauds) >= uint64_t{1} << 32) {
    return Invalid("the weights of the kinds of ride_frauds should not all be 0");
  }
  if (parameters.lookalikes.shared_device > 750'000) {
    return Invalid("shared_device should be at most 750000");
  }
  if (const Status status = CheckVictims(parameters.victims); !status) return status;
  if (const Status status = CheckChanges(parameters.changes); !status) return status;
  return CheckDrift(parameters.drift);
}

}  // namespace reveza::datagen::coherent
