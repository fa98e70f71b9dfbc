#include "datagen/run/behaviour_entries.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace reveza::datagen {
namespace {

using coherent::Parameters;
using coherent::Typology;
using Places = std::vector<std::pair<std::string_view, BehaviourPlace>>;

void Add(std::vector<BehaviourEntry>& entries, const std::string& section, const Places& places) {
  for (const auto& [key, place] : places) entries.push_back({section, std::string(key), place});
}

void AddProfile(std::vector<BehaviourEntry>& entries, std::string_view name,
                coherent::ProfileHabits& profile) {
  const std::string section = fmt::format("habits.{}", name);
  Add(entries, section,
      {{"weight", &profile.weight},
       {"least_age", &profile.least_age},
       {"most_age", &profile.most_age},
       {"least_income_percent", &profile.least_income_percent},
       {"most_income_percent", &profile.most_income_percent},
       {"least_rows_a_month", &profile.least_rows_a_month},
       {"most_rows_a_month", &profile.most_rows_a_month},
       {"weekend_percent", &profile.weekend_percent},
       {"susceptibility_percent", &profile.susceptibility_percent},
       {"least_amount", &profile.least_amount},
       {"most_amount", &profile.most_amount},
       {"mean_amount", &profile.mean_amount},
       {"standing_orders_percent", &profile.standing_orders_percent},
       {"web_percent", &profile.web_percent},
       {"whatsapp_percent", &profile.whatsapp_percent},
       {"branch_percent", &profile.branch_percent},
       {"least_devices", &profile.least_devices},
       {"most_devices", &profile.most_devices}});
  for (std::size_t i = 0; i < profile.kinds.size(); ++i) {
    entries.push_back(
        {section + ".kinds", std::string(coherent::kKindNames.at(i)), &profile.kinds.at(i)});
  }
  for (std::size_t i = 0; i < profile.hours.size(); ++i) {
    entries.push_back({section + ".hours", fmt::format("{:02}", i), &profile.hours.at(i)});
  }
}

// When people pay, and who they are.
void AddPeople(std::vector<BehaviourEntry>& entries, Parameters& parameters) {
  static constexpr std::array<const char*, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
  coherent::CalendarParameters& calendar = parameters.calendar;
  Add(entries, "calendar",
      {{"payday_percent", &calendar.payday_percent},
       {"payday_days", &calendar.payday_days},
       {"christmas_percent", &calendar.christmas_percent},
       {"spree_percent", &calendar.spree_percent}});
  for (std::size_t i = 0; i < calendar.months.size(); ++i) {
    entries.push_back({"calendar.months", kMonths.at(i), &calendar.months.at(i)});
  }
  for (std::size_t i = 0; i < calendar.paydays.size(); ++i) {
    entries.push_back({"calendar.paydays", fmt::format("{}", i + 1), &calendar.paydays.at(i)});
  }
  coherent::Population& population = parameters.population;
  Add(entries, "population",
      {{"joining", &population.joining},
       {"pix_to_shops", &population.pix_to_shops},
       {"contacts_inside", &population.contacts_inside},
       {"travel_goods", &population.travel_goods}});
  for (std::size_t i = 0; i < population.pix_keys.size(); ++i) {
    entries.push_back({"population.pix_keys", std::string(coherent::kKeyTypeNames.at(i)),
                       &population.pix_keys.at(i)});
  }
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
      {{"least_overlap_thousandths", &scale.least_overlap_thousandths},
       {"most_overlap_thousandths", &scale.most_overlap_thousandths},
       {"least_lookalikes_thousandths", &scale.least_lookalikes_thousandths},
       {"most_lookalikes_thousandths", &scale.most_lookalikes_thousandths},
       {"least_missed", &scale.least_missed},
       {"most_missed", &scale.most_missed},
       {"least_falsely_reported", &scale.least_falsely_reported},
       {"most_falsely_reported", &scale.most_falsely_reported}});
}

void AddTypology(std::vector<BehaviourEntry>& entries, std::string_view name, Typology& typology) {
  const std::string section = fmt::format("typologies.{}", name);
  const std::vector<std::pair<std::string_view, BehaviourPlace>> places = {
      {"weight", &typology.weight},
      {"least_rows", &typology.least_rows},
      {"most_rows", &typology.most_rows},
      {"test_rows", &typology.test_rows},
      {"least_gap_minutes", &typology.least_gap_minutes},
      {"most_gap_minutes", &typology.most_gap_minutes},
      {"device", &typology.device},
      {"hours", &typology.hours},
      {"goods", &typology.goods},
      {"far_away", &typology.far_away},
      {"web", &typology.web},
      {"chains", &typology.chains},
      {"least_income_thousandths", &typology.least_income_thousandths},
      {"most_income_thousandths", &typology.most_income_thousandths},
      {"least_amount", &typology.least_amount},
      {"most_amount", &typology.most_amount},
      {"report_hours", &typology.report_hours},
      {"reported_thousandths", &typology.reported_thousandths},
      {"drift_thousandths", &typology.drift_thousandths}};
  for (const auto& [key, place] : places) entries.push_back({section, std::string(key), place});
  for (std::size_t i = 0; i < typology.kinds.size(); ++i) {
    entries.push_back(
        {section + ".kinds", std::string(coherent::kKindNames.at(i)), &typology.kinds.at(i)});
  }
}

}  // namespace

std::vector<BehaviourEntry> BehaviourEntries(Parameters& parameters) {
  std::vector<BehaviourEntry> entries;
  for (std::size_t i = 0; i < parameters.profiles.size(); ++i) {
    AddProfile(entries, coherent::kProfileNames.at(i), parameters.profiles.at(i));
  }
  AddPeople(entries, parameters);
  AddBank(entries, parameters);
  const auto add = [&](const char* section,
                       const std::vector<std::pair<std::string_view, BehaviourPlace>>& places) {
    for (const auto& [key, place] : places) entries.push_back({section, std::string(key), place});
  };
  coherent::ChainParameters& chains = parameters.chains;
  add("chains", {{"most_share_thousandths", &chains.most_share_thousandths},
                 {"least_hops", &chains.least_hops},
                 {"most_hops", &chains.most_hops},
                 {"least_delay_minutes", &chains.least_delay_minutes},
                 {"most_delay_minutes", &chains.most_delay_minutes},
                 {"least_fee_thousandths", &chains.least_fee_thousandths},
                 {"most_fee_thousandths", &chains.most_fee_thousandths},
                 {"mules_thousandths", &chains.mules_thousandths},
                 {"hops_of_a_mule", &chains.hops_of_a_mule},
                 {"mules_of_a_ring", &chains.mules_of_a_ring}});
  coherent::VictimParameters& victims = parameters.victims;
  add("victims", {{"few_thousandths", &victims.few_thousandths},
                  {"others_thousandths", &victims.others_thousandths},
                  {"share_of_few_thousandths", &victims.share_of_few_thousandths},
                  {"least_days", &victims.least_days},
                  {"most_days", &victims.most_days}});
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
  for (std::size_t i = 0; i < parameters.ride_frauds.size(); ++i) {
    entries.push_back({"ride_frauds", std::string(lists::kRideFraudTypeNames.at(i)),
                       &parameters.ride_frauds.at(i)});
  }
  for (std::size_t i = 0; i < parameters.typologies.size(); ++i) {
    AddTypology(entries, coherent::kFraudTypeNames.at(i), parameters.typologies.at(i));
  }
  return entries;
}

}  // namespace reveza::datagen
