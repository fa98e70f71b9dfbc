// The default behaviour of each profile's customers, and the validation of all parameters.
#include "fraudgen/model/coherent/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "fraudgen/lists/profiles.h"
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
  for (const Scenario& scenario : parameters.scenarios) {
    const uint64_t kinds =
        std::accumulate(scenario.kinds.begin(), scenario.kinds.end(), uint64_t{0});
    if (kinds == 0) continue;
    frauds += scenario.weight;
    pix += kPartsPerMillion * scenario.weight * scenario.kinds[At(Kind::kPix)] / kinds;
  }
  return frauds == 0 ? 0 : pix / frauds;
}

namespace {

// All rows of a block may fall into one month; see EventOrder::kMaxEvents.
constexpr int64_t kMaxRowsPerBlock = 4'000'000;
// Leaves enough CPF numbers for the drivers in addition to the customers.
constexpr uint64_t kMaxRides = 10'000'000'000;

bool AreWeights(std::span<const uint32_t> weights) {
  const uint64_t sum = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  return sum != 0 && sum < uint64_t{1} << 32;
}

Status CheckBounds(std::string_view names, std::string_view of, std::string_view must,
                   Range<int64_t> value, Range<int64_t> valid) {
  if (value.min >= valid.min && value.max >= value.min && value.max <= valid.max) return {};
  return InvalidArgument("{} of {} must {} {} to {}", names, of, must, valid.min, valid.max);
}

// Checks each field by itself.
Status CheckFields(Parameters parameters) {
  for (const ParameterField& field : FieldsOf(parameters)) {
    if (field.min == INT64_MIN) continue;
    const std::size_t dot = field.section.find('.');
    const std::string of =
        dot == std::string::npos ? "the " + field.section : field.section.substr(dot + 1);
    RETURN_IF_ERROR(std::visit(
        [&](const auto* value) {
          const Range<int64_t> valid = {field.min, field.max};
          if constexpr (requires { value->min; }) {
            return CheckBounds(fmt::format("least_{0} and most_{0}", field.key), of,
                               "be in order and from", {value->min, value->max}, valid);
          } else {
            const auto number = static_cast<int64_t>(*value);
            return CheckBounds(field.key, of, "be from", {number, number}, valid);
          }
        },
        field.value));
  }
  return {};
}

Status CheckProfiles(const Parameters& parameters) {
  for (std::size_t i = 0; i < kProfiles; ++i) {
    const ProfileHabits& profile = parameters.profiles[i];
    if (AreWeights(profile.kinds) && AreWeights(profile.hours)) continue;
    return InvalidArgument("kinds and hours of {} must have a weight above 0, and a sum below 2^32",
                           kProfileNames[i]);
  }
  if (AreWeights(lists::WeightsOf(parameters.profiles))) return {};
  return InvalidArgument(
      "the weights of the profiles (habits) must not all be 0, with a sum below 2^32");
}

Status CheckCalendar(const CalendarParameters& calendar) {
  for (const int64_t month : calendar.months) {
    RETURN_IF_ERROR(CheckBounds("a month", "the calendar", "be from", {month, month}, {1, 1'000}));
  }
  for (const int64_t payday : calendar.paydays) {
    RETURN_IF_ERROR(CheckBounds("a payday", "the calendar", "be from", {payday, payday}, {1, 31}));
  }
  return {};
}

Status CheckScenarios(std::span<const Scenario> scenarios) {
  if (scenarios.size() > kMaxScenarios) {
    return InvalidArgument("{} scenarios; at most {} are supported", scenarios.size(),
                           kMaxScenarios);
  }
  for (const Scenario& scenario : scenarios) RETURN_IF_ERROR(Validate(scenario));
  if (AreWeights(lists::WeightsOf(scenarios))) return {};
  return InvalidArgument("the weights of the scenarios must not all be 0, with a sum below 2^32");
}

// The customers, blocks and period.
Status CheckSize(const Parameters& parameters) {
  for (const auto& [name, value, least, most] :
       {std::tuple("rows_per_block", parameters.rows_per_block, 1, kMaxRowsPerBlock),
        std::tuple("customers", parameters.customers, 0, int64_t{50'000'000})}) {
    const auto number = static_cast<int64_t>(value);
    RETURN_IF_ERROR(CheckBounds(name, "the data set", "be from", {number, number}, {least, most}));
  }
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
  RETURN_IF_ERROR(CheckFields(parameters));
  if (!AreWeights(parameters.population.pix_keys)) {
    return InvalidArgument("pix_keys of the population must have a weight above 0");
  }
  RETURN_IF_ERROR(CheckScenarios(parameters.scenarios));
  if (parameters.frauds_of_pix && FraudPixMillionths(parameters) == 0) {
    return InvalidArgument(
        "a fraud rate of the PIX rows requires a scenario with PIX among its kinds");
  }
  if (AreWeights(parameters.ride_frauds)) return {};
  return InvalidArgument("the weights of ride_frauds must not all be 0, with a sum below 2^32");
}

void Parameters::Add(Scenario scenario) {
  const auto found = std::ranges::find(scenarios, scenario.name, &Scenario::name);
  if (found == scenarios.end()) {
    scenarios.push_back(std::move(scenario));
  } else {
    *found = std::move(scenario);
  }
}

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
