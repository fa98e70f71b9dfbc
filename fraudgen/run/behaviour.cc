#include "fraudgen/run/behaviour.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/parse_number.h"
#include "common/settings/layered_settings.h"
#include "fraudgen/run/settings_values.h"

namespace reveza::fraudgen {
namespace {

using coherent::DeviceUse;
using coherent::Goods;
using coherent::HourUse;
using coherent::Parameters;
using coherent::Typology;
using Fields = std::vector<std::pair<std::string_view, BehaviourField>>;

constexpr std::array<std::string_view, 2> kDeviceUses = {"own", "thief"};
constexpr std::array<std::string_view, 3> kHourUses = {"any", "office", "night"};
constexpr std::array<std::string_view, 3> kGoods = {"usual", "sellable", "digital"};

std::span<const std::string_view> WordsOf(DeviceUse) { return kDeviceUses; }
std::span<const std::string_view> WordsOf(HourUse) { return kHourUses; }
std::span<const std::string_view> WordsOf(Goods) { return kGoods; }

// Numbers are limited to a billion so that sums cannot overflow.
template <typename T>
Status Parse(std::string_view text, T& to) {
  if constexpr (std::same_as<T, bool>) {
    ASSIGN_OR_RETURN(const auto flag, ParseFlag(text));
    to = flag;
  } else if constexpr (std::is_enum_v<T>) {
    ASSIGN_OR_RETURN(const auto word, ParseWord(text, WordsOf(to)));
    to = static_cast<T>(word);
  } else {
    constexpr int64_t kMax = 1'000'000'000;
    constexpr int64_t kMin = std::is_signed_v<T> ? -kMax : 0;
    const auto value = ParseNumber<int64_t>(text);
    if (!value || *value < kMin || *value > kMax) {
      return InvalidArgument("'{}' is invalid; expected a whole number from {} to {}", text, kMin,
                             kMax);
    }
    to = static_cast<T>(*value);
  }
  return {};
}

template <typename T>
std::string Show(T value) {
  if constexpr (std::is_enum_v<T>) {
    return fmt::format("\"{}\"", WordsOf(value)[static_cast<std::size_t>(value)]);
  } else {
    return fmt::format("{}", value);
  }
}

void Add(std::vector<BehaviourEntry>& entries, const std::string& section, const Fields& fields) {
  for (const auto& [key, field] : fields) entries.push_back({section, std::string(key), field});
}

template <typename Names, typename Values>
void AddEach(std::vector<BehaviourEntry>& entries, const std::string& section, const Names& names,
             Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    entries.push_back({section, std::string(names.at(i)), &values.at(i)});
  }
}

void AddProfile(std::vector<BehaviourEntry>& entries, std::string_view name,
                coherent::ProfileHabits& profile) {
  const std::string section = fmt::format("habits.{}", name);
  Add(entries, section,
      {{"weight", &profile.weight},
       {"least_age", &profile.age.min},
       {"most_age", &profile.age.max},
       {"least_income_percent", &profile.income_percent.min},
       {"most_income_percent", &profile.income_percent.max},
       {"least_rows_a_month", &profile.rows_a_month.min},
       {"most_rows_a_month", &profile.rows_a_month.max},
       {"weekend_percent", &profile.weekend_percent},
       {"susceptibility_percent", &profile.susceptibility_percent},
       {"least_amount", &profile.amount.min},
       {"most_amount", &profile.amount.max},
       {"mean_amount", &profile.mean_amount},
       {"standing_orders_percent", &profile.standing_orders_percent},
       {"web_percent", &profile.web_percent},
       {"whatsapp_percent", &profile.whatsapp_percent},
       {"branch_percent", &profile.branch_percent},
       {"least_devices", &profile.devices.min},
       {"most_devices", &profile.devices.max}});
  AddEach(entries, section + ".kinds", coherent::kKindNames, profile.kinds);
  for (std::size_t i = 0; i < profile.hours.size(); ++i) {
    entries.push_back({section + ".hours", fmt::format("{:02}", i), &profile.hours.at(i)});
  }
}

// When customers pay, and who they are.
void AddPeople(std::vector<BehaviourEntry>& entries, Parameters& parameters) {
  static constexpr std::array<const char*, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
  coherent::CalendarParameters& calendar = parameters.calendar;
  Add(entries, "calendar",
      {{"payday_percent", &calendar.payday_percent},
       {"payday_days", &calendar.payday_days},
       {"christmas_percent", &calendar.christmas_percent},
       {"spree_percent", &calendar.spree_percent}});
  AddEach(entries, "calendar.months", kMonths, calendar.months);
  for (std::size_t i = 0; i < calendar.paydays.size(); ++i) {
    entries.push_back({"calendar.paydays", fmt::format("{}", i + 1), &calendar.paydays.at(i)});
  }
  coherent::Population& population = parameters.population;
  Add(entries, "population",
      {{"joining", &population.joining},
       {"pix_to_shops", &population.pix_to_shops},
       {"contacts_inside", &population.contacts_inside},
       {"travel_goods", &population.travel_goods}});
  AddEach(entries, "population.pix_keys", coherent::kKeyTypeNames, population.pix_keys);
  coherent::LifeChanges& changes = parameters.changes;
  Add(entries, "changes",
      {{"address", &changes.address},
       {"email", &changes.email},
       {"income", &changes.income},
       {"credit_limit", &changes.credit_limit},
       {"pix_key", &changes.pix_key},
       {"closed_thousandths", &changes.closed_thousandths}});
}

void AddBank(std::vector<BehaviourEntry>& entries, Parameters& parameters) {
  coherent::Limits& limits = parameters.limits;
  Add(entries, "limits",
      {{"pix_night", &limits.pix_night},
       {"untrusted_pix", &limits.untrusted_pix},
       {"untrusted_pix_day", &limits.untrusted_pix_day},
       {"trusted_after_hours", &limits.trusted_after_hours}});
  coherent::Outcomes& outcomes = parameters.outcomes;
  Add(entries, "outcomes",
      {{"pending", &outcomes.pending},
       {"returned", &outcomes.returned},
       {"typed_card_reversed", &outcomes.typed_card_reversed},
       {"card_reversed", &outcomes.card_reversed},
       {"shop_pix_reversed", &outcomes.shop_pix_reversed},
       {"person_pix_reversed", &outcomes.person_pix_reversed},
       {"med_refunded_percent", &outcomes.med_refunded_percent},
       {"med_partly_refunded_percent", &outcomes.med_partly_refunded_percent},
       {"chargeback_refunded_percent", &outcomes.chargeback_refunded_percent},
       {"first_party_refunded_percent", &outcomes.first_party_refunded_percent}});
  coherent::DifficultyScale& scale = parameters.difficulty_scale;
  Add(entries, "difficulty_scale",
      {{"least_overlap_thousandths", &scale.overlap_thousandths.min},
       {"most_overlap_thousandths", &scale.overlap_thousandths.max},
       {"least_lookalikes_thousandths", &scale.lookalikes_thousandths.min},
       {"most_lookalikes_thousandths", &scale.lookalikes_thousandths.max},
       {"least_missed", &scale.missed.min},
       {"most_missed", &scale.missed.max},
       {"least_falsely_reported", &scale.falsely_reported.min},
       {"most_falsely_reported", &scale.falsely_reported.max}});
}

void AddTypology(std::vector<BehaviourEntry>& entries, std::string_view name, Typology& typology) {
  const std::string section = fmt::format("typologies.{}", name);
  Add(entries, section,
      {{"weight", &typology.weight},
       {"least_rows", &typology.rows.min},
       {"most_rows", &typology.rows.max},
       {"test_rows", &typology.test_rows},
       {"least_gap_minutes", &typology.gap_minutes.min},
       {"most_gap_minutes", &typology.gap_minutes.max},
       {"device", &typology.device},
       {"hours", &typology.hours},
       {"goods", &typology.goods},
       {"far_away", &typology.far_away},
       {"web", &typology.web},
       {"chains", &typology.chains},
       {"least_income_thousandths", &typology.income_thousandths.min},
       {"most_income_thousandths", &typology.income_thousandths.max},
       {"least_amount", &typology.amount.min},
       {"most_amount", &typology.amount.max},
       {"report_hours", &typology.report_hours},
       {"reported_thousandths", &typology.reported_thousandths},
       {"drift_thousandths", &typology.drift_thousandths}});
  AddEach(entries, section + ".kinds", coherent::kKindNames, typology.kinds);
}

}  // namespace

std::vector<BehaviourEntry> BehaviourEntries(Parameters& parameters) {
  std::vector<BehaviourEntry> entries;
  for (std::size_t i = 0; i < parameters.profiles.size(); ++i) {
    AddProfile(entries, coherent::kProfileNames.at(i), parameters.profiles.at(i));
  }
  AddPeople(entries, parameters);
  AddBank(entries, parameters);
  const auto add = [&](const char* section, const Fields& fields) {
    Add(entries, section, fields);
  };
  coherent::ChainParameters& chains = parameters.chains;
  add("chains", {{"most_share_thousandths", &chains.most_share_thousandths},
                 {"least_hops", &chains.hops.min},
                 {"most_hops", &chains.hops.max},
                 {"least_delay_minutes", &chains.delay_minutes.min},
                 {"most_delay_minutes", &chains.delay_minutes.max},
                 {"least_fee_thousandths", &chains.fee_thousandths.min},
                 {"most_fee_thousandths", &chains.fee_thousandths.max},
                 {"mules_thousandths", &chains.mules_thousandths},
                 {"hops_of_a_mule", &chains.hops_of_a_mule},
                 {"mules_of_a_ring", &chains.mules_of_a_ring}});
  coherent::VictimParameters& victims = parameters.victims;
  add("victims", {{"few_thousandths", &victims.few_thousandths},
                  {"others_thousandths", &victims.others_thousandths},
                  {"share_of_few_thousandths", &victims.share_of_few_thousandths},
                  {"least_days", &victims.days.min},
                  {"most_days", &victims.days.max}});
  coherent::Lookalikes& lookalikes = parameters.lookalikes;
  add("lookalikes", {{"journey_a_month", &lookalikes.journey_a_month},
                     {"new_phone_a_month", &lookalikes.new_phone_a_month},
                     {"new_number_a_month", &lookalikes.new_number_a_month},
                     {"new_sim_a_month", &lookalikes.new_sim_a_month},
                     {"spree_a_month", &lookalikes.spree_a_month},
                     {"stranger_paid", &lookalikes.stranger_paid},
                     {"odd_hour", &lookalikes.odd_hour},
                     {"shared_device", &lookalikes.shared_device}});
  coherent::RiskWeights& risk = parameters.risk;
  add("risk", {{"base", &risk.base},
               {"noise", &risk.noise},
               {"new_beneficiary", &risk.new_beneficiary},
               {"new_device", &risk.new_device},
               {"far_away", &risk.far_away},
               {"unusual_time", &risk.unusual_time},
               {"doubling", &risk.doubling},
               {"busy_day", &risk.busy_day},
               {"alert_above", &risk.alert_above},
               {"block_above", &risk.block_above},
               {"blocked_thousandths", &risk.blocked_thousandths}});
  coherent::Drift& drift = parameters.drift;
  add("drift", {{"amounts_thousandths", &drift.amounts_thousandths},
                {"to_pix_thousandths", &drift.to_pix_thousandths},
                {"to_mobile_thousandths", &drift.to_mobile_thousandths}});
  AddEach(entries, "ride_frauds", lists::kRideFraudTypeNames, parameters.ride_frauds);
  for (std::size_t i = 0; i < parameters.typologies.size(); ++i) {
    AddTypology(entries, coherent::kFraudTypeNames.at(i), parameters.typologies.at(i));
  }
  return entries;
}

BehaviourKeys::BehaviourKeys(Parameters& parameters) {
  for (const BehaviourEntry& entry : BehaviourEntries(parameters)) {
    fields_.emplace(entry.Name(), entry.field);
  }
}

Status BehaviourKeys::Set(std::string_view key, std::string_view value) const {
  const auto found = fields_.find(std::string(key));
  if (found != fields_.end()) {
    return std::visit([&](auto* field) { return Parse(value, *field); }, found->second);
  }
  std::vector<std::string_view> names;
  for (const auto& [name, field] : fields_) names.push_back(name);
  std::ranges::sort(names);
  return UnknownKey(key, names, "fraudgen config");
}

std::string BehaviourText(const Parameters& parameters) {
  Parameters copy = parameters;
  std::string text;
  std::string section;
  for (const BehaviourEntry& entry : BehaviourEntries(copy)) {
    if (entry.section != section) {
      section = entry.section;
      fmt::format_to(std::back_inserter(text), "\n[{}]\n", section);
    }
    fmt::format_to(std::back_inserter(text), "{} = {}\n", entry.key,
                   std::visit([](const auto* field) { return Show(*field); }, entry.field));
  }
  return text;
}

}  // namespace reveza::fraudgen
