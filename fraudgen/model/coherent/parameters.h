// The parameters of the coherent model. Member names are configuration keys, those of a Range with
// least_ and most_, and must not change.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/lists/rides.h"
#include "fraudgen/model/blocks.h"
#include "fraudgen/model/coherent/draws.h"
#include "fraudgen/model/coherent/scenario.h"
#include "fraudgen/schema/schema_coherent.h"
#include "fraudgen/values/cpf.h"

namespace reveza::fraudgen::coherent {

inline constexpr std::size_t kProfiles = kProfileNames.size();
inline constexpr std::size_t kRideFraudTypes = lists::kRideFraudTypeNames.size();

struct ChainParameters {
  uint32_t most_share_thousandths = 350;  // maximum share of a block's frauds
  Range<uint32_t> hops = {2, 4};
  Range<uint32_t> delay_minutes = {2, 25};
  Range<uint32_t> fee_thousandths = {30, 100};
  uint32_t mules_thousandths = 60;  // maximum share of a block's customers
  uint32_t hops_of_a_mule = 12;     // approximate number before a mule is abandoned
  uint32_t mules_of_a_ring = 6;
};

// The behaviour of a profile's customers.
struct ProfileHabits {
  uint32_t weight = 0;  // share of the customers
  Range<uint32_t> age = {18, 18};
  Range<uint32_t> income_percent = {100, 100};  // factor applied to the income bracket
  Range<uint32_t> rows_a_month = {};            // payments
  uint32_t weekend_percent = 100;               // activity on a weekend day; a weekday is 100
  uint32_t susceptibility_percent = 100;        // susceptibility to fraud
  Range<int64_t> amount = {};                   // of a payment to a person, in cents
  int64_t mean_amount = 0;                      // of all payments, in cents; scaled by the income
  uint32_t standing_orders_percent = 0;         // of the payments
  uint32_t web_percent = 0;                     // of payments by device; the rest are by phone,
  uint32_t whatsapp_percent = 0;                // or PIX by WhatsApp
  uint32_t branch_percent = 0;                  // of the boletos
  Range<uint32_t> devices = {1, 1};
  std::array<uint32_t, kKinds> kinds = {};  // weights of the other payments
  std::array<uint32_t, 24> hours = {};      // activity by hour of the day
};

// The days of payments.
struct CalendarParameters {
  std::array<uint32_t, 12> months = {92, 88, 98, 97, 103, 99, 100, 98, 97, 101, 108, 127};
  std::array<uint32_t, 6> paydays = {5, 7, 10, 15, 20, 30};  // equally common
  uint32_t payday_percent = 150;  // activity in the first payday_days from payday
  uint32_t payday_days = 4;
  uint32_t christmas_percent = 140;  // activity from 12 to 24 December
  uint32_t spree_percent = 250;      // amounts on a shopping spree
};

// Values at difficulty 0 and 1, interpolated linearly in between.
struct DifficultyScale {
  Range<uint32_t> overlap_thousandths = {100, 900};       // fraud traits that match honest rows
  Range<uint32_t> lookalikes_thousandths = {500, 2'000};  // of the rates of lookalikes
  Range<uint32_t> missed = {20'000, 300'000};             // frauds never reported, in millionths
  Range<uint32_t> falsely_reported = {100, 1'000};        // honest rows reported, in millionths
  // Wrong decisions on alerts, in millionths: payments of others, of the customer, and honest ones.
  Range<uint32_t> takeovers_cleared = {20'000, 150'000};
  Range<uint32_t> own_payments_cleared = {60'000, 450'000};
  Range<uint32_t> honest_confirmed = {5'000, 40'000};
};

// The bank's limits, in cents.
struct Limits {
  int64_t pix_night = 100'000;     // from 20:00 to 06:00
  int64_t untrusted_pix = 20'000;  // from a device not yet trusted
  int64_t untrusted_pix_day = 100'000;
  uint32_t trusted_after_hours = 72;
};

// Outcomes of payments, in millionths unless named otherwise.
struct Outcomes {
  uint32_t pending = 60'000;   // of boletos and TEDs
  uint32_t returned = 40'000;  // of those
  uint32_t typed_card_reversed = 14'000;
  uint32_t card_reversed = 5'000;
  uint32_t shop_pix_reversed = 7'000;
  uint32_t person_pix_reversed = 3'000;
  uint32_t med_refunded_percent = 5;  // of the claims
  uint32_t med_partly_refunded_percent = 10;
  uint32_t chargeback_refunded_percent = 85;
  uint32_t first_party_refunded_percent = 60;  // of fraudulent chargebacks
};

// Properties and choices of the customers, in millionths.
struct Population {
  uint32_t joining = 120'000;  // open their account in the first year of the period
  uint32_t pix_to_shops = 380'000;
  uint32_t contacts_inside = 350'000;  // of contacts: customers of the same block
  uint32_t travel_goods = 600'000;     // of purchases on a journey
  std::array<uint32_t, 4> pix_keys = {380'000, 320'000, 200'000, 100'000};  // CPF to random
};

// Compromised accounts: a few bear most frauds, each for some days or weeks. Excludes the transfers
// of chains and the frauds of mules and synthetic identities.
struct VictimParameters {
  // Heavily and lightly affected accounts, as a share of the customers per year.
  uint32_t few_thousandths = 70;
  uint32_t others_thousandths = 230;
  uint32_t share_of_few_thousandths = 650;  // of the frauds
  Range<uint32_t> days = {7, 42};           // duration of a compromise
};

// Changes of customer data (rows of `changes`), in millionths of the customers per year.
struct LifeChanges {
  uint32_t address = 70'000;
  uint32_t email = 50'000;
  uint32_t income = 400'000;
  uint32_t credit_limit = 250'000;
  uint32_t pix_key = 80'000;
  uint32_t closed_thousandths = 250;  // of the accounts opened during the period
};

// Honest behaviour that resembles fraud, in millionths at difficulty 0.5.
struct Lookalikes {
  uint32_t journey_a_month = 80'000;
  uint32_t new_phone_a_month = 40'000;
  uint32_t new_number_a_month = 8'000;
  uint32_t new_sim_a_month = 8'000;
  uint32_t spree_a_month = 100'000;
  uint32_t stranger_paid = 160'000;  // of the PIX
  uint32_t odd_hour = 60'000;        // of all payments
  uint32_t shared_device = 40'000;   // of the customers, at any difficulty
};

// The bank's risk score, in thousandths of a point.
struct RiskWeights {
  int32_t base = 12'000;
  int32_t noise = 13'000;  // standard deviation
  int32_t new_beneficiary = 9'000;
  int32_t new_device = 11'000;
  int32_t far_away = 10'000;
  int32_t unusual_time = 6'000;
  int32_t doubling = 3'500;  // per doubling of the customer's usual amount
  int32_t busy_day = 700;    // per row above six in the last 24 hours
  int32_t alert_above = 48'000;
  int32_t block_above = 53'000;
  uint32_t blocked_thousandths = 300;  // of the payments above block_above
};

// The reviews of alerts.
struct Analysts {
  uint32_t opens = 8;  // hours of each weekday in which alerts are reviewed
  uint32_t closes = 20;
  uint32_t block_minutes = 12;   // median until the review of a stopped payment, at any time
  uint32_t review_minutes = 90;  // of others, in office hours, once those before are done
  uint32_t queue_percent = 25;   // of the time out of office: the work that piles up
  uint32_t not_reviewed_thousandths = 150;  // of the payments that were not stopped
};

// Linear drift from the first day to the last, in thousandths; none by default. A kind of fraud has
// its own (Scenario::drift_thousandths): at 1000 it rises from none to twice its mean, at -1000 the
// reverse, and its total stays the same.
struct Drift {
  int32_t amounts_thousandths = 0;     // growth of incomes and honest amounts
  uint32_t to_pix_thousandths = 0;     // replaceable payments that become PIX
  uint32_t to_mobile_thousandths = 0;  // browser and branch payments that move to the phone
};

struct Parameters {
  uint64_t seed = 42;
  uint64_t rows = 1'000'000;
  uint64_t rides = 0;  // rows of rides, in addition to payments or with rows 0
  // Derive the number of rows from customers and days; a later last day only appends rows.
  bool growing = false;
  uint64_t customers = 0;      // 0: derived from the rows
  int64_t first_day = 19'723;  // as in civil_time.h; inclusive, like last_day
  int64_t last_day = 20'088;
  Share frauds{20'000'000};
  bool frauds_of_pix = false;  // `frauds` is a share of the (estimated) PIX payments
  Identities identities = Identities::kValid;
  uint32_t difficulty = 500;  // thousandths
  // The day, as first_day, at whose end the labels are those known; unset: all labels.
  std::optional<int64_t> labels_as_of = std::nullopt;
  bool sessions = false;  // generate log-ins, too
  uint64_t rows_per_block = 2'000'000;

  std::vector<Scenario> scenarios = BuiltInScenarios();  // kinds of fraud
  std::array<ProfileHabits, kProfiles> profiles = DefaultProfiles();
  CalendarParameters calendar;
  DifficultyScale difficulty_scale;
  Limits limits;
  Outcomes outcomes;
  Population population;
  ChainParameters chains;
  VictimParameters victims;
  LifeChanges changes;
  Lookalikes lookalikes;
  RiskWeights risk;
  Analysts analysts;
  Drift drift;
  std::array<uint32_t, kRideFraudTypes> ride_frauds = lists::kRideFraudTypeWeights;

  static std::array<ProfileHabits, kProfiles> DefaultProfiles();

  uint64_t Days() const { return static_cast<uint64_t>(last_day - first_day + 1); }
  const ProfileHabits& HabitsOf(Profile profile) const {
    return profiles[static_cast<std::size_t>(profile)];
  }
  // Adds a scenario, or replaces the one of that name.
  void Add(Scenario scenario);
  // Probability that a trait of a fraud matches honest rows, in thousandths.
  uint32_t Overlap() const { return AtDifficulty(difficulty_scale.overlap_thousandths); }
  // Draws whether a trait of a fraud differs from honest rows.
  bool RevealsTrait(Draws& draws) const { return !draws.Chance(uint64_t{Overlap()} * 1'000); }
  // Factor applied to the rates of lookalikes, in thousandths.
  uint32_t LookalikeFactor() const { return AtDifficulty(difficulty_scale.lookalikes_thousandths); }
  // Reportable frauds that are never reported, and honest rows that are, in millionths.
  uint32_t Missed() const { return AtDifficulty(difficulty_scale.missed); }
  uint32_t FalselyReported() const { return AtDifficulty(difficulty_scale.falsely_reported); }
  // Wrong decisions on alerts, in millionths.
  uint32_t TakeoversCleared() const { return AtDifficulty(difficulty_scale.takeovers_cleared); }
  uint32_t OwnPaymentsCleared() const {
    return AtDifficulty(difficulty_scale.own_payments_cleared);
  }
  uint32_t HonestConfirmed() const { return AtDifficulty(difficulty_scale.honest_confirmed); }

 private:
  uint32_t AtDifficulty(const Range<uint32_t>& scale) const {
    return scale.min + static_cast<uint32_t>(uint64_t{scale.max - scale.min} * difficulty / 1'000);
  }
};

// A growing data set is a prefix of this many days.
inline constexpr int64_t kGrowingDays = 5 * 365;

// Named difficulties, in thousandths.
inline constexpr uint32_t kEasy = 150;
inline constexpr uint32_t kMedium = 500;
inline constexpr uint32_t kHard = 850;

// A behaviour parameter, other than those of scenarios, by name, and its valid numbers, of a Range
// those of both ends.
struct ParameterField {
  using Value = std::variant<uint32_t*, int32_t*, int64_t*, Range<uint32_t>*, Range<int64_t>*>;
  std::string section;  // of the configuration file: calendar, habits.YOUNG_DIGITAL
  std::string key;
  Value value;
  int64_t min = INT64_MIN;  // any number, or other rules than these two
  int64_t max = INT64_MAX;
};

// Returns all fields in display order, grouped by section. They point into `parameters`.
std::vector<ParameterField> FieldsOf(Parameters& parameters);

// Validates the parameters; kInvalidArgument names the parameter and its valid range.
Status Validate(const Parameters& parameters);

// Estimates the share of PIX payments without generating any. Pure functions.

// Return the estimated share of PIX among honest rows and among frauds, in millionths.
uint64_t HonestPixMillionths(const Parameters& parameters);
uint64_t FraudPixMillionths(const Parameters& parameters);

}  // namespace reveza::fraudgen::coherent
