#include "fraudgen/model/coherent/labels.h"

#include <cstddef>

#include "fraudgen/model/coherent/bank.h"
#include "fraudgen/model/coherent/ride_frauds.h"

namespace reveza::fraudgen::coherent {
namespace {

// How long an app examines a complaint.
constexpr Range<int64_t> kComplaintDays = {1, 10};

// Returns the weight of a scenario among those that a customer may claim of a payment.
uint64_t ClaimWeight(const Scenario& scenario, Kind kind) {
  const bool by_others =
      scenario.role == FraudRole::kVictim || scenario.role == FraudRole::kTakeover;
  if (!by_others || scenario.account != AccountUse::kCustomer) return 0;
  uint64_t kinds = 0;
  for (const uint32_t weight : scenario.kinds) kinds += weight;
  if (kinds == 0) return 0;
  return uint64_t{scenario.weight} * 1'000 * scenario.kinds[At(kind)] / kinds;
}

}  // namespace

Labels::Labels(const World& world) : world_(&world) {
  const auto& day = world.parameters().labels_as_of;
  if (day) end_ = (*day + 1) * kDay;
}

void Labels::Reduce(Row& row) const {
  if (AreComplete()) return;
  if (!Knows(row.reviewed_at)) row.reviewed_at = kNever;
  if (!KnowsReport(row.reported_at)) {
    row.is_fraud = false;
    row.reported_at = kNever;
  } else if (!row.is_fraud && IsDisputed(row) && !Knows(DecisionOf(*world_, row).decided_at)) {
    Claim(row);
  }
}

// Labels an honest payment as the customer has reported it.
void Labels::Claim(Row& row) const {
  const auto& scenarios = world_->parameters().scenarios;
  uint64_t sum = 0;
  for (const Scenario& scenario : scenarios) sum += ClaimWeight(scenario, row.kind);
  if (sum == 0) return;
  Draws draws(world_->keys().Of(Purpose::kSettlements, row.number, 3));
  uint64_t place = draws.Below(sum);
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const uint64_t weight = ClaimWeight(scenarios[i], row.kind);
    if (place < weight) {
      row.is_fraud = true;
      row.scenario = static_cast<uint8_t>(i);
      row.fraud_role = scenarios[i].role;
      return;
    }
    place -= weight;
  }
}

void Labels::Reduce(Ride& ride) const {
  if (AreComplete()) return;
  if (!KnowsReport(ride.reported_at)) {
    ride.is_fraud = false;
    ride.reported_at = kNever;
  } else if (!ride.is_fraud) {
    Claim(ride);
  }
}

// Labels an honest ride as it was reported, unless the complaint is decided.
void Labels::Claim(Ride& ride) const {
  Draws draws(world_->keys().Of(Purpose::kSettlements, ride.number, 4));
  const int64_t days = draws.Between(kComplaintDays);
  if (Knows(ride.reported_at + days * kDay + static_cast<int64_t>(draws.Below(kDay)))) return;
  const WeightedChoice types(world_->parameters().ride_frauds);
  ride.is_fraud = true;
  ride.fraud_type = static_cast<RideFraudType>(types.Of(draws.Bits()));
  ride.fraud_role = RoleOf(ride.fraud_type);
}

}  // namespace reveza::fraudgen::coherent
