#include "fraudgen/model/coherent/new_devices.h"

#include <algorithm>

namespace reveza::fraudgen::coherent {
namespace {

constexpr uint64_t kBoughtToPay = 850'000;  // of the new phones, in millionths

// Draws how long before its first payment a device is used: not at all, up to an hour, or hours.
int64_t Lead(Draws& draws) {
  if (draws.Chance(400'000)) return 0;
  return draws.Between(kMinute / 2, draws.Chance(550'000) ? kHour : 5 * kHour);
}

}  // namespace

int64_t NewPhoneAt(const HonestBehaviour& honest, const CustomerState& customer, const Slice& slice,
                   const PaymentTimes& times) {
  const Month& month = customer.month;
  if (month.new_phone_at == kNever || month.rows <= month.standing_orders) {
    return month.new_phone_at;
  }
  Draws draws(Mix(month.key) ^ static_cast<uint64_t>(Purpose::kDevice));
  if (!draws.Chance(kBoughtToPay)) return month.new_phone_at;
  const uint64_t index = month.standing_orders + draws.Below(month.rows - month.standing_orders);
  const int64_t time = honest.TimeOf(customer, slice, times, static_cast<uint32_t>(index));
  return time - std::min(Lead(draws), time % kDay);
}

int64_t ThiefsDeviceSince(const Scenario& scenario, const Person& person, const FraudPlan& plan) {
  Draws draws(Mix(plan.key) ^ static_cast<uint64_t>(Purpose::kLife));
  int64_t before = 0;
  if (plan.HasDevice() && plan.role != FraudRole::kMuleHop && plan.role != FraudRole::kCashOut) {
    before =
        draws.Between(scenario.before_minutes.min * kMinute, scenario.before_minutes.max * kMinute);
  }
  if (before == 0) before = Lead(draws);
  const int64_t today = plan.time % kDay;
  if (before > today) before = draws.Between(0, today);
  return std::max(plan.time - before, person.opened_at);
}

}  // namespace reveza::fraudgen::coherent
