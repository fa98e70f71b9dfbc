// FieldsOf: the table of behaviour parameters, from which configuration files and bounds derive.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "fraudgen/model/coherent/parameters.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr int64_t kAll = 1'000'000;
constexpr int64_t kMaxMoney = 100'000'000;
constexpr int64_t kAny = UINT32_MAX;
constexpr std::array<const char*, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                 "jul", "aug", "sep", "oct", "nov", "dec"};

class FieldList {
 public:
  struct Row {
    std::string_view key;
    ParameterField::Value value;
    int64_t min = INT64_MIN;
    int64_t max = INT64_MAX;
  };

  void Add(const std::string& section, std::initializer_list<Row> rows) {
    for (const Row& row : rows) {
      fields_.push_back({section, std::string(row.key), row.value, row.min, row.max});
    }
  }
  // Adds the elements of an array.
  template <typename Names, typename Values>
  void AddEach(const std::string& section, const Names& names, Values& values) {
    for (std::size_t i = 0; i < values.size(); ++i) Add(section, {{names.at(i), &values[i]}});
  }
  std::vector<ParameterField> Take() { return std::move(fields_); }

 private:
  std::vector<ParameterField> fields_;
};

void AddProfile(FieldList& fields, const std::string& section, ProfileHabits& profile) {
  fields.Add(section, {{"weight", &profile.weight},
                       {"age", &profile.age, 18, 100},
                       {"income_percent", &profile.income_percent, 1, 10'000},
                       {"rows_a_month", &profile.rows_a_month, 1, 10'000},
                       {"weekend_percent", &profile.weekend_percent, 0, 1'000},
                       {"susceptibility_percent", &profile.susceptibility_percent, 0, 150},
                       {"amount", &profile.amount, 100, kMaxMoney},
                       {"mean_amount", &profile.mean_amount, 100, kMaxMoney},
                       {"standing_orders_percent", &profile.standing_orders_percent, 0, 100},
                       {"web_percent", &profile.web_percent, 0, 100},
                       {"whatsapp_percent", &profile.whatsapp_percent, 0,
                        100 - std::min<int64_t>(100, profile.web_percent)},
                       {"branch_percent", &profile.branch_percent, 0, 100},
                       {"devices", &profile.devices, 1, 8}});
  fields.AddEach(section + ".kinds", kKindNames, profile.kinds);
  for (std::size_t i = 0; i < profile.hours.size(); ++i) {
    fields.Add(section + ".hours", {{fmt::format("{:02}", i), &profile.hours[i]}});
  }
}

// When customers pay, and who they are.
void AddPeople(FieldList& fields, Parameters& parameters) {
  CalendarParameters& calendar = parameters.calendar;
  fields.Add("calendar", {{"payday_percent", &calendar.payday_percent, 1, 1'000},
                          {"payday_days", &calendar.payday_days, 0, 31},
                          {"christmas_percent", &calendar.christmas_percent, 1, 1'000},
                          {"spree_percent", &calendar.spree_percent, 1, 1'000}});
  fields.AddEach("calendar.months", kMonths, calendar.months);
  for (std::size_t i = 0; i < calendar.paydays.size(); ++i) {
    fields.Add("calendar.paydays", {{fmt::format("{}", i + 1), &calendar.paydays[i]}});
  }
  Population& population = parameters.population;
  fields.Add("population", {{"joining", &population.joining, 0, kAll},
                            {"pix_to_shops", &population.pix_to_shops, 0, kAll},
                            {"contacts_inside", &population.contacts_inside, 0, kAll},
                            {"travel_goods", &population.travel_goods, 0, kAll}});
  fields.AddEach("population.pix_keys", kKeyTypeNames, population.pix_keys);
  LifeChanges& changes = parameters.changes;
  fields.Add("changes", {{"address", &changes.address, 0, kAll},
                         {"email", &changes.email, 0, kAll},
                         {"income", &changes.income, 0, kAll},
                         {"credit_limit", &changes.credit_limit, 0, kAll},
                         {"pix_key", &changes.pix_key, 0, kAll},
                         {"closed_thousandths", &changes.closed_thousandths, 0, 1'000}});
}

void AddBank(FieldList& fields, Parameters& parameters) {
  Limits& limits = parameters.limits;
  fields.Add("limits", {{"pix_night", &limits.pix_night, 0, kMaxMoney},
                        {"untrusted_pix", &limits.untrusted_pix, 0, kMaxMoney},
                        {"untrusted_pix_day", &limits.untrusted_pix_day, 0, kMaxMoney},
                        {"trusted_after_hours", &limits.trusted_after_hours, 0, 10'000}});
  Outcomes& outcomes = parameters.outcomes;
  fields.Add("outcomes",
             {{"pending", &outcomes.pending, 0, kAll},
              {"returned", &outcomes.returned, 0, kAll},
              {"typed_card_reversed", &outcomes.typed_card_reversed, 0, kAll},
              {"card_reversed", &outcomes.card_reversed, 0, kAll},
              {"shop_pix_reversed", &outcomes.shop_pix_reversed, 0, kAll},
              {"person_pix_reversed", &outcomes.person_pix_reversed, 0, kAll},
              {"med_refunded_percent", &outcomes.med_refunded_percent, 0, 100},
              {"med_partly_refunded_percent", &outcomes.med_partly_refunded_percent, 0,
               100 - std::min<int64_t>(100, outcomes.med_refunded_percent)},
              {"chargeback_refunded_percent", &outcomes.chargeback_refunded_percent, 0, 100},
              {"first_party_refunded_percent", &outcomes.first_party_refunded_percent, 0, 100}});
  DifficultyScale& scale = parameters.difficulty_scale;
  fields.Add("difficulty_scale",
             {{"overlap_thousandths", &scale.overlap_thousandths, 0, 1'000},
              {"lookalikes_thousandths", &scale.lookalikes_thousandths, 0, 10'000},
              {"missed", &scale.missed, 0, kAll},
              {"falsely_reported", &scale.falsely_reported, 0, kAll},
              {"takeovers_cleared", &scale.takeovers_cleared, 0, kAll},
              {"own_payments_cleared", &scale.own_payments_cleared, 0, kAll},
              {"honest_confirmed", &scale.honest_confirmed, 0, kAll}});
  Analysts& analysts = parameters.analysts;
  fields.Add("analysts",
             {{"opens", &analysts.opens, 0, 23},
              {"closes", &analysts.closes, std::min<int64_t>(23, analysts.opens) + 1, 24},
              {"block_minutes", &analysts.block_minutes, 1, 1'440},
              {"review_minutes", &analysts.review_minutes, 1, 1'440},
              {"queue_percent", &analysts.queue_percent, 0, 100},
              {"not_reviewed_thousandths", &analysts.not_reviewed_thousandths, 0, 1'000}});
}

// Frauds, what resembles them, and how they are scored.
void AddFrauds(FieldList& fields, Parameters& parameters) {
  ChainParameters& chains = parameters.chains;
  fields.Add("chains", {{"most_share_thousandths", &chains.most_share_thousandths, 0, 800},
                        {"hops", &chains.hops, 1, 6},
                        {"delay_minutes", &chains.delay_minutes, 0, 30},
                        {"fee_thousandths", &chains.fee_thousandths, 0, 200},
                        {"mules_thousandths", &chains.mules_thousandths, 0, 90},
                        {"hops_of_a_mule", &chains.hops_of_a_mule, 1, kAny},
                        {"mules_of_a_ring", &chains.mules_of_a_ring, 1, kAny}});
  VictimParameters& victims = parameters.victims;
  fields.Add("victims", {{"few_thousandths", &victims.few_thousandths, 1, 1'000},
                         {"others_thousandths", &victims.others_thousandths, 0, 1'000},
                         {"share_of_few_thousandths", &victims.share_of_few_thousandths, 0, 1'000},
                         {"days", &victims.days, 2, 365}});
  Lookalikes& lookalikes = parameters.lookalikes;
  fields.Add("lookalikes", {{"journey_a_month", &lookalikes.journey_a_month},
                            {"new_phone_a_month", &lookalikes.new_phone_a_month},
                            {"new_number_a_month", &lookalikes.new_number_a_month},
                            {"new_sim_a_month", &lookalikes.new_sim_a_month},
                            {"spree_a_month", &lookalikes.spree_a_month},
                            {"stranger_paid", &lookalikes.stranger_paid},
                            {"odd_hour", &lookalikes.odd_hour},
                            {"shared_device", &lookalikes.shared_device, 0, 750'000}});
  RiskWeights& risk = parameters.risk;
  fields.Add("risk", {{"base", &risk.base},
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
  Drift& drift = parameters.drift;
  fields.Add("drift", {{"amounts_thousandths", &drift.amounts_thousandths, -900, 10'000},
                       {"to_pix_thousandths", &drift.to_pix_thousandths, 0, 1'000},
                       {"to_mobile_thousandths", &drift.to_mobile_thousandths, 0, 1'000}});
  fields.AddEach("ride_frauds", lists::kRideFraudTypeNames, parameters.ride_frauds);
}

}  // namespace

std::vector<ParameterField> FieldsOf(Parameters& parameters) {
  FieldList fields;
  for (std::size_t i = 0; i < kProfiles; ++i) {
    AddProfile(fields, fmt::format("habits.{}", kProfileNames[i]), parameters.profiles[i]);
  }
  AddPeople(fields, parameters);
  AddBank(fields, parameters);
  AddFrauds(fields, parameters);
  return fields.Take();
}

}  // namespace reveza::fraudgen::coherent
