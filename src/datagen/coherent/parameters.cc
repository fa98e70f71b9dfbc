#include "datagen/coherent/parameters.h"

#include <numeric>
#include <span>
#include <string>

#include "datagen/civil_time.h"

namespace reveza::datagen::coherent {
namespace {

// So many rows may fall into one month.
constexpr uint64_t kMostRowsOfBlock = 4'000'000;
// Their drivers must have numbers of taxpayers beside the customers.
constexpr uint64_t kMostRides = 10'000'000'000;

Status Invalid(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
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
  if (typology.report_hours < 1 || typology.reported_thousandths > 1000) {
    return Invalid("report_hours" + of +
                   " should be at least 1, reported_thousandths at most 1000");
  }
  if (typology.drift_thousandths < -1000 || typology.drift_thousandths > 1000) {
    return Invalid("drift_thousandths" + of + " should be from -1000 to 1000");
  }
  return {};
}

uint64_t Sum(std::span<const uint32_t> weights) {
  return std::accumulate(weights.begin(), weights.end(), uint64_t{0});
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
  if (parameters.first_day < DaysOf({1950, 1, 1}) || parameters.last_day >= DaysOf({2150, 1, 1}) ||
      parameters.last_day - parameters.first_day > 366 * 20) {
    return Invalid("the days should be from 1950 to 2149 and span at most 20 years");
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
    return Invalid("at most half of the rows can be frauds");
  }
  if (parameters.difficulty > 1000) return Invalid("difficulty is from 0 to 1");
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
  return CheckDrift(parameters.drift);
}

}  // namespace reveza::datagen::coherent
