#include "fraudgen/model/coherent/review.h"

#include <algorithm>

#include "fraudgen/model/coherent/draws.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr int64_t kReviewSpread = 80'000;  // log-normal deviation of the time of a review

bool IsWorkday(int64_t day) { return WeekdayOf(day) < Weekday::kSaturday; }

// Returns the probability of a wrong decision, in millionths. A customer who made the payment says
// so on the telephone, deceived or not.
uint32_t MistakeChance(const Parameters& parameters, const Row& row) {
  if (!row.is_fraud) return parameters.HonestConfirmed();
  const bool by_others =
      row.fraud_role == FraudRole::kTakeover || row.fraud_role == FraudRole::kTest;
  return by_others ? parameters.TakeoversCleared() : parameters.OwnPaymentsCleared();
}

}  // namespace

WorkingHours::WorkingHours(uint32_t opens, uint32_t closes)
    : opens_(opens * kHour), closes_(closes * kHour) {}

int64_t WorkingHours::After(int64_t time, int64_t work) const {
  for (int64_t day = time / kDay;; ++day) {
    if (!IsWorkday(day)) continue;
    const int64_t from = std::max(time, day * kDay + opens_);
    const int64_t left = day * kDay + closes_ - from;
    if (left <= 0) continue;
    if (work <= left) return from + work;
    work -= left;
  }
}

int64_t WorkingHours::QueueAt(int64_t time, int64_t percent) const {
  int64_t day = time / kDay;
  while (WeekdayOf(day) != Weekday::kFriday || day * kDay + closes_ > time) --day;
  for (int64_t queue = 0;;) {
    const int64_t closed_at = day * kDay + closes_;
    do ++day;
    while (!IsWorkday(day));
    const int64_t opens_at = day * kDay + opens_;
    queue += (std::min(time, opens_at) - closed_at) * percent / 100;
    if (time <= opens_at) return queue;
    const int64_t closes_at = day * kDay + closes_;
    queue = std::max<int64_t>(0, queue - (std::min(time, closes_at) - opens_at));
    if (time < closes_at) return queue;
  }
}

void Review(const World& world, Row& row) {
  const Parameters& parameters = world.parameters();
  const Analysts& analysts = parameters.analysts;
  Draws draws(world.keys().Of(Purpose::kSettlements, row.number, 5));
  const bool skipped = draws.Chance(uint64_t{analysts.not_reviewed_thousandths} * 1'000);
  const uint64_t bits = draws.Bits();
  const auto time_of = [&](uint32_t minutes) {
    return std::max(LogNormal(bits, minutes * kMinute, kReviewSpread), kMinute);
  };
  if (IsStopped(row)) {
    row.reviewed_at = row.time + time_of(analysts.block_minutes);
  } else if (skipped) {
    return;
  } else {
    const WorkingHours hours(analysts.opens, analysts.closes);
    const int64_t queue = hours.QueueAt(row.time, analysts.queue_percent);
    row.reviewed_at = hours.After(row.time, queue + time_of(analysts.review_minutes));
  }
  const bool mistaken = draws.Chance(MistakeChance(parameters, row));
  const bool reported = row.reported_at != kNever && row.reported_at <= row.reviewed_at;
  row.decision = reported || row.is_fraud != mistaken ? AlertDecision::kConfirmedFraud
                                                      : AlertDecision::kFalseAlarm;
}

}  // namespace reveza::fraudgen::coherent
