// All that the coherent model can be told. The names of the members are those of the configuration.
#pragma once

#include <array>
#include <cstdint>

#include "base/error.h"
#include "datagen/blocks.h"
#include "datagen/cpf.h"
#include "datagen/lists/rides.h"
#include "datagen/schema_coherent.h"

namespace reveza::datagen::coherent {

inline constexpr std::size_t kProfiles = kProfileNames.size();
inline constexpr std::size_t kKinds = kKindNames.size();
inline constexpr std::size_t kFraudTypes = kFraudTypeNames.size();
inline constexpr std::size_t kRideFraudTypes = lists::kRideFraudTypeNames.size();

enum class DeviceUse : uint8_t { kOwn, kThief };  // with whose device it is paid
enum class HourUse : uint8_t { kAny, kOffice, kNight };
enum class Goods : uint8_t { kUsual, kSellable, kDigital };  // what a card buys

// How one kind of fraud behaves.
struct Typology {
  uint32_t weight = 0;      // its share of the fraud rows
  uint32_t least_rows = 1;  // of one episode
  uint32_t most_rows = 1;
  uint32_t test_rows = 0;          // at the beginning, to try a card with a few reais
  uint32_t least_gap_minutes = 1;  // between two rows of an episode
  uint32_t most_gap_minutes = 1;
  std::array<uint32_t, kKinds> kinds = {1};  // weights of the kinds of payment; only PIX
  FraudRole role = FraudRole::kVictim;
  DeviceUse device = DeviceUse::kOwn;
  HourUse hours = HourUse::kAny;
  Goods goods = Goods::kUsual;
  bool far_away = false;                  // a card is used in another city
  bool web = false;                       // in the browser
  bool chains = false;                    // some episodes begin a mule chain
  uint32_t least_income_thousandths = 0;  // an amount is a part of a month's income
  uint32_t most_income_thousandths = 0;
  int64_t least_amount = 0;  // or, where most_amount is not 0, in this range of cents
  int64_t most_amount = 0;
  uint32_t report_hours = 1;          // until it is reported, the median
  uint32_t reported_thousandths = 0;  // how many would be at difficulty 0
  int32_t drift_thousandths = 0;      // -1000 to 1000: how much more common it becomes, see Drift
};

struct ChainParameters {
  uint32_t most_share_thousandths = 500;  // of a block's frauds, at most
  uint32_t least_hops = 2;
  uint32_t most_hops = 4;
  uint32_t least_delay_minutes = 2;
  uint32_t most_delay_minutes = 25;
  uint32_t least_fee_thousandths = 30;
  uint32_t most_fee_thousandths = 100;
  uint32_t mules_thousandths = 60;  // of a block's customers, at most
  uint32_t hops_of_a_mule = 30;     // about as many before it is left alone
  uint32_t mules_of_a_ring = 6;
};

// How the customers of a profile live.
struct ProfileHabits {
  uint32_t weight = 0;  // how many of the customers have it
  uint32_t least_age = 18;
  uint32_t most_age = 18;
  uint32_t least_income_percent = 100;  // the factor of the income
  uint32_t most_income_percent = 100;
  uint32_t least_rows_a_month = 0;  // payments
  uint32_t most_rows_a_month = 0;
  uint32_t weekend_percent = 100;         // activity of a weekend day, a weekday's being 100
  uint32_t susceptibility_percent = 100;  // how readily fraud succeeds
  int64_t least_amount = 0;               // of one payment to a person, in cents
  int64_t most_amount = 0;
  int64_t mean_amount = 0;               // of all payments, in cents: income decides how many times
  uint32_t standing_orders_percent = 0;  // of the payments
  uint32_t web_percent = 0;              // of what is paid with a device; the rest by telephone,
  uint32_t whatsapp_percent = 0;         // or as a PIX by WhatsApp
  uint32_t branch_percent = 0;           // of the boletos
  uint32_t least_devices = 1;
  uint32_t most_devices = 1;
  std::array<uint32_t, kKinds> kinds = {};  // weights of the other payments
  std::array<uint32_t, 24> hours = {};      // how active in each hour, from midnight
};

// On which days people pay.
struct CalendarParameters {
  std::array<uint32_t, 12> months = {92, 88, 98, 97, 103, 99, 100, 98, 97, 101, 108, 127};
  std::array<uint32_t, 6> paydays = {5, 7, 10, 15, 20, 30};  // each is as common
  uint32_t payday_percent = 150;  // activity of so many days from payday on
  uint32_t payday_days = 4;
  uint32_t christmas_percent = 140;  // of 12 to 24 December
  uint32_t spree_percent = 250;      // of the amounts on a day of a spree
};

// What difficulty 0 and 1 are; in between it is a straight line.
struct DifficultyScale {
  uint32_t least_overlap_thousandths = 100;  // traits of frauds that are as honest rows have them
  uint32_t most_overlap_thousandths = 900;
  uint32_t least_lookalikes_thousandths = 500;  // of the rates of lookalikes
  uint32_t most_lookalikes_thousandths = 2'000;
  uint32_t least_missed = 20'000;  // millionths of the frauds that are never reported
  uint32_t most_missed = 300'000;
  uint32_t least_falsely_reported = 100;  // millionths of the honest rows that are
  uint32_t most_falsely_reported = 1'000;
};

// What the bank allows, in cents.
struct Limits {
  int64_t pix_night = 100'000;     // from 20:00 to 06:00
  int64_t untrusted_pix = 20'000;  // from a device that is not trusted yet
  int64_t untrusted_pix_day = 100'000;
  uint32_t trusted_after_hours = 72;
};

// What becomes of payments later: millionths.
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
  uint32_t first_party_refunded_percent = 60;  // chargebacks of those who deceive
};

// Who the customers are, and what they choose: millionths.
struct Population {
  uint32_t joining = 120'000;  // open their account in the first year of the data
  uint32_t pix_to_shops = 380'000;
  uint32_t contacts_inside = 350'000;  // of whom people pay, customers of the same block
  uint32_t travel_goods = 600'000;     // on a journey, what travellers buy
  std::array<uint32_t, 4> pix_keys = {380'000, 320'000, 200'000, 100'000};  // CPF to random
};

// Whose accounts are compromised: few bear most of it, each for some days or weeks. What chains
// pass on and what mules and invented people do is not theirs.
struct VictimParameters {
  // Accounts that are struck hard, and others that are struck: of the customers, each year.
  uint32_t few_thousandths = 70;
  uint32_t others_thousandths = 230;
  uint32_t share_of_few_thousandths = 650;  // of the frauds
  uint32_t least_days = 7;                  // for which an account stays compromised
  uint32_t most_days = 42;
};

// What changes in the lives of customers, and is in the table of changes: millionths of them a
// year.
struct LifeChanges {
  uint32_t address = 70'000;
  uint32_t email = 50'000;
  uint32_t income = 400'000;
  uint32_t credit_limit = 250'000;
  uint32_t pix_key = 80'000;
  uint32_t closed_thousandths = 250;  // of the accounts that are opened while we watch
};

// Honest behaviour that looks like fraud: millionths, at difficulty 0.5.
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

// What the bank thinks: thousandths of a point.
struct RiskWeights {
  int32_t base = 12'000;
  int32_t noise = 13'000;  // one deviation
  int32_t new_beneficiary = 9'000;
  int32_t new_device = 11'000;
  int32_t far_away = 10'000;
  int32_t unusual_time = 6'000;
  int32_t doubling = 3'500;  // for each doubling of the customer's usual amount
  int32_t busy_day = 700;    // for each row of the last day above six
  int32_t alert_above = 48'000;
  int32_t block_above = 53'000;
  uint32_t blocked_thousandths = 300;  // of those above
};

// What changes from the first day to the end, evenly: thousandths, none unless asked for. A kind of
// fraud has its own: at 1000 there is none of it at the beginning and twice its mean at the end, at
// -1000 the reverse; its rows in all remain.
struct Drift {
  int32_t amounts_thousandths = 0;     // incomes and honest amounts grow by so much
  uint32_t to_pix_thousandths = 0;     // of other payments that a PIX can replace, become one
  uint32_t to_mobile_thousandths = 0;  // of payments in the browser or a branch, are by telephone
};

struct Parameters {
  uint64_t seed = 42;
  uint64_t rows = 1'000'000;
  uint64_t rides = 0;  // rows of rides, beside payments or with rows 0
  // The rows follow from the customers and the days: a later last day appends, and changes nothing.
  bool growing = false;
  uint64_t customers = 0;      // 0: as many as fit to the rows
  int64_t first_day = 19'723;  // days as in civil_time.h, both are part of it
  int64_t last_day = 20'088;
  Share frauds{20'000'000};
  bool frauds_of_pix = false;  // of the PIX among the payments: how many those are is estimated
  Identities identities = Identities::kValid;
  uint32_t difficulty = 500;  // thousandths
  uint64_t rows_per_block = 2'000'000;

  std::array<Typology, kFraudTypes> typologies = DefaultTypologies();
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
  Drift drift;
  std::array<uint32_t, kRideFraudTypes> ride_frauds = lists::kRideFraudTypeWeights;

  static std::array<Typology, kFraudTypes> DefaultTypologies();
  static std::array<ProfileHabits, kProfiles> DefaultProfiles();

  const ProfileHabits& HabitsOf(Profile profile) const {
    return profiles[static_cast<std::size_t>(profile)];
  }
  // Thousandths: how often a trait of a fraud is as the customer's honest rows.
  uint32_t Overlap() const {
    return Between(difficulty_scale.least_overlap_thousandths,
                   difficulty_scale.most_overlap_thousandths);
  }
  // How many lookalikes there are, in thousandths of their rates.
  uint32_t LookalikeFactor() const {
    return Between(difficulty_scale.least_lookalikes_thousandths,
                   difficulty_scale.most_lookalikes_thousandths);
  }
  // Millionths: frauds that are never reported though they would be, honest rows that are.
  uint32_t Missed() const {
    return Between(difficulty_scale.least_missed, difficulty_scale.most_missed);
  }
  uint32_t FalselyReported() const {
    return Between(difficulty_scale.least_falsely_reported, difficulty_scale.most_falsely_reported);
  }

 private:
  uint32_t Between(uint32_t least, uint32_t most) const {
    return least + static_cast<uint32_t>(uint64_t{most - least} * difficulty / 1'000);
  }
};

// What grows is the beginning of so many days.
inline constexpr int64_t kGrowingDays = 5 * 365;

// Easy, medium and hard, in thousandths.
inline constexpr uint32_t kEasy = 150;
inline constexpr uint32_t kMedium = 500;
inline constexpr uint32_t kHard = 850;

// What is wrong with them, and what would be right.
Status Check(const Parameters& parameters);

}  // namespace reveza::datagen::coherent
