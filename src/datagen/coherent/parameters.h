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

// Honest behaviour that looks like fraud: millionths, at difficulty 0.5.
struct Lookalikes {
  uint32_t journey_a_month = 80'000;
  uint32_t new_phone_a_month = 40'000;
  uint32_t new_number_a_month = 8'000;
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
  Identities identities = Identities::kValid;
  uint32_t difficulty = 500;  // thousandths
  uint64_t rows_per_block = 2'000'000;

  std::array<Typology, kFraudTypes> typologies = DefaultTypologies();
  ChainParameters chains;
  Lookalikes lookalikes;
  RiskWeights risk;
  Drift drift;
  std::array<uint32_t, kRideFraudTypes> ride_frauds = lists::kRideFraudTypeWeights;

  static std::array<Typology, kFraudTypes> DefaultTypologies();

  // Thousandths: how often a trait of a fraud is as the customer's honest rows.
  uint32_t Overlap() const { return 100 + difficulty * 8 / 10; }
  // How many lookalikes there are, in thousandths of their rates.
  uint32_t LookalikeFactor() const { return 500 + difficulty * 3 / 2; }
  // Millionths: frauds that are never reported though they would be, honest rows that are.
  uint32_t Missed() const { return 20'000 + difficulty * 280; }
  uint32_t FalselyReported() const { return 100 + difficulty * 9 / 10; }
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
