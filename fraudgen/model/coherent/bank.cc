#include "fraudgen/model/coherent/bank.h"

#include <algorithm>
#include <array>
#include <limits>

#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr uint32_t kRowsUntilUsual = 30;
constexpr int64_t kFarKilometres = 150;
constexpr uint32_t kBusyRows = 6;

bool IsNight(int64_t time) {
  const int64_t hour = time % kDay / kHour;
  return hour >= 20 || hour < 6;
}
// A night belongs to the day on which it began.
int64_t NightOf(int64_t time) { return (time - 6 * kHour) / kDay; }

void Decline(Row& row, Refusal refusal) {
  row.status = PaymentStatus::kDeclined;
  row.refusal = refusal;
}

}  // namespace

void Bank::DeriveFeatures(const CustomerState& customer, Row& row) const {
  if (customer.last_time != kNever) row.minutes = (row.time - customer.last_time) / kMinute;
  if (customer.has_last_place && row.has_place) {
    row.distance = DistanceBetween(customer.last_place, row.place);
  }
  row.count = customer.recent_rows;
  row.accumulated = customer.recent_amount;
  const uint32_t in_this_hour = customer.hours[static_cast<std::size_t>(row.time % kDay / kHour)];
  row.unusual_time = customer.rows >= kRowsUntilUsual && in_this_hour * 50 < customer.rows;
  row.new_beneficiary = HasReceiver(row.kind) && !customer.HasPaid(row);
  const bool same_session = row.device != kNoDevice && row.device == customer.session_device &&
                            row.time - customer.session_time < 15 * kMinute;
  row.session = same_session ? customer.session : row.number;
}

bool Bank::IsUntrusted(const CustomerState& customer, const Row& row) const {
  if (row.device == kNoDevice) return false;
  const KnownDevice* known = customer.Find(row.device);
  return known == nullptr ||
         (!known->registered &&
          row.time - known->since < world_->parameters().limits.trusted_after_hours * kHour);
}

// Returns the maximum amount of a PIX at this moment.
int64_t Bank::MaxPixAmount(const CustomerState& customer, const Row& row) const {
  if (row.kind != Kind::kPix) return kNoLimit;
  const Limits& limits = world_->parameters().limits;
  int64_t allowed = kNoLimit;
  if (IsNight(row.time)) allowed = limits.pix_night - customer.night.Of(NightOf(row.time));
  if (IsUntrusted(customer, row)) {
    const int64_t used = customer.untrusted.Of(row.time / kDay);
    allowed = std::min({allowed, limits.untrusted_pix, limits.untrusted_pix_day - used});
  }
  return allowed;
}

void Bank::CapAtLimits(const CustomerState& customer, Draws& draws, Row& row) const {
  const int64_t allowed = MaxPixAmount(customer, row);
  if (row.amount <= allowed || allowed < 1'000 || !draws.Chance(900'000)) return;
  row.amount = allowed * draws.Between(300, 1'000) / 1'000;
  if (row.amount > 1'000) row.amount -= row.amount % 500;
}

int64_t Bank::Score(const CustomerState& customer, Draws& draws, Row& row) const {
  const RiskWeights& risk = world_->parameters().risk;
  const int64_t more =
      Log2(static_cast<uint64_t>(std::max<int64_t>(row.amount, 1))) - customer.usual_amount;
  const int64_t fast = row.minutes >= 0 && row.distance > kFarKilometres * 100 ? risk.far_away : 0;
  const std::array<int64_t, 5> parts = {
      row.new_beneficiary ? risk.new_beneficiary : 0,
      IsUntrusted(customer, row) ? risk.new_device : 0, fast,
      row.count > kBusyRows ? static_cast<int64_t>(row.count - kBusyRows) * risk.busy_day : 0,
      customer.rows < kRowsUntilUsual ? 0 : std::max<int64_t>(more, 0) * risk.doubling / kOne};
  int64_t score = risk.base + (row.unusual_time ? risk.unusual_time : 0);
  for (const int64_t part : parts) score += std::min<int64_t>(part, 25'000);
  score += std::abs(NormalOf(draws.Bits())) * risk.noise / kOne;
  row.rule = static_cast<AlertRule>(std::ranges::max_element(parts) - parts.begin());
  return std::clamp<int64_t>(score, 0, 99'990);
}

// Declines or blocks a payment by limits, card, balance and score, in this order.
void Bank::DecideStatus(const CustomerState& customer, Draws& draws, Row& row) const {
  const RiskWeights& risk = world_->parameters().risk;
  const uint64_t chance = draws.Below(100'000);
  const bool terminal = IsCard(row.kind) && !IsTyped(row);
  const int64_t owned = row.kind == Kind::kCreditCard
                            ? customer.person.credit_limit - customer.credit_used
                            : customer.balance;
  if (row.amount > MaxPixAmount(customer, row)) return Decline(row, Refusal::kLimitExceeded);
  if (IsTyped(row) && !row.cvv_validated && chance < 70'000) {
    return Decline(row, Refusal::kCvvError);
  }
  if (terminal && chance < 500) return Decline(row, Refusal::kInvalidPin);
  if (IsCard(row.kind) && chance >= 99'800) return Decline(row, Refusal::kCardExpired);
  if (IsCard(row.kind) && chance >= 99'700) return Decline(row, Refusal::kCardBlocked);
  if (row.amount > owned) {
    return Decline(row, row.kind == Kind::kCreditCard ? Refusal::kLimitExceeded
                                                      : Refusal::kInsufficientBalance);
  }
  if (row.score * 10 > risk.block_above && chance < risk.blocked_thousandths * 100) {
    if (chance % 3 == 0) {
      row.status = PaymentStatus::kBlocked;
    } else {
      Decline(row, Refusal::kFraudSuspect);
    }
    return;
  }
  const bool slow = row.kind == Kind::kBoleto || row.kind == Kind::kTed;
  if (slow && chance < world_->parameters().outcomes.pending / 10)
    row.status = PaymentStatus::kPending;
}

void Bank::Decide(const CustomerState& customer, bool certain, Draws& draws, Row& row) const {
  row.score = static_cast<int32_t>(Score(customer, draws, row) / 10);
  row.alert = row.score * 10 > world_->parameters().risk.alert_above;
  row.status = PaymentStatus::kApproved;
  if (!certain) DecideStatus(customer, draws, row);
}

void Bank::Book(CustomerState& customer, Row& row) const {
  if (row.device != kNoDevice) {
    customer.session = row.session;
    customer.session_device = row.device;
    customer.session_time = row.time;
  }
  if (IsPaid(row)) {
    if (row.kind == Kind::kPix) {
      if (IsNight(row.time)) customer.night.Add(NightOf(row.time), row.amount);
      if (IsUntrusted(customer, row)) customer.untrusted.Add(row.time / kDay, row.amount);
    }
    (row.kind == Kind::kCreditCard ? customer.credit_used : customer.balance) +=
        row.kind == Kind::kCreditCard ? row.amount : -row.amount;
  }
  row.balance = customer.balance;
  customer.Remember(row);
}

namespace {

// Boletos clear on the next banking day.
int64_t NextBankingDay(int64_t time) {
  int64_t day = time / kDay + 1;
  while (WeekdayOf(day) >= Weekday::kSaturday) ++day;
  return day;
}

void SettleLater(const Outcomes& outcomes, const Row& row, bool receiver_in_block, Draws& draws,
                 SettlementRow& settlement) {
  const bool boleto = row.kind == Kind::kBoleto;
  settlement.time = boleto ? NextBankingDay(row.time) * kDay + draws.Between(6 * kHour, 18 * kHour)
                           : row.time + draws.Between(20 * kMinute, 240 * kMinute);
  if (receiver_in_block || !draws.Chance(outcomes.returned)) return;
  settlement.outcome = SettlementOutcome::kReturned;
  settlement.reason = boleto ? SettlementReason::kNotCleared : SettlementReason::kReceiverNotFound;
  settlement.returned = row.amount;
}

uint64_t ReversalChance(const Outcomes& outcomes, const Row& row) {
  if (IsTyped(row)) return outcomes.typed_card_reversed;
  if (IsCard(row.kind)) return outcomes.card_reversed;
  if (row.kind != Kind::kPix) return 0;
  return row.receiver_is_shop ? outcomes.shop_pix_reversed : outcomes.person_pix_reversed;
}

void Reverse(const Row& row, Draws& draws, SettlementRow& settlement) {
  settlement.outcome = SettlementOutcome::kReversed;
  settlement.returned = row.amount;
  if (!IsCard(row.kind) && !row.receiver_is_shop) {
    settlement.reason = SettlementReason::kReceiverReturned;
    settlement.time = row.time + draws.Between(10 * kMinute, 5 * kDay);
  } else if (IsCard(row.kind) && draws.Chance(200'000)) {
    settlement.reason = SettlementReason::kDuplicateCharge;
    settlement.time = row.time + draws.Between(kDay, 3 * kDay);
  } else {
    settlement.reason = SettlementReason::kShopCancelled;
    settlement.time = row.time + draws.Between(kHour, 10 * kDay);
    // A partial return.
    if (row.amount >= 1'000 && draws.Chance(250'000)) {
      settlement.returned = row.amount * draws.Between(10, 90) / 100;
    }
  }
}

}  // namespace

std::optional<SettlementRow> SettlementOf(const Outcomes& outcomes, const Row& row,
                                          bool receiver_in_block, Draws& draws) {
  SettlementRow settlement = {.row = row.number, .customer = row.customer, .amount = row.amount};
  if (row.status == PaymentStatus::kPending) {
    SettleLater(outcomes, row, receiver_in_block, draws, settlement);
    return settlement;
  }
  // Disputed payments are not reversed in addition.
  if (row.status != PaymentStatus::kApproved || row.reported_at != kNever || receiver_in_block)
    return {};
  if (!draws.Chance(ReversalChance(outcomes, row))) return {};
  Reverse(row, draws, settlement);
  return settlement;
}

Movement ReturnOf(const SettlementRow& settlement) {
  const bool pending = settlement.outcome == SettlementOutcome::kReturned;
  return {.time = settlement.time,
          .amount = settlement.returned,
          .reference = settlement.row,
          .kind = pending ? EntryKind::kPaymentReturned : EntryKind::kPaymentReversed};
}

Movement ArrivalOf(const SettlementRow& settlement) {
  return {.time = settlement.time,
          .amount = settlement.amount,
          .reference = settlement.customer,
          .kind = EntryKind::kTedReceived};
}

bool IsDisputed(const Row& row) {
  if (row.reported_at == kNever || row.status != PaymentStatus::kApproved) return false;
  if (row.kind != Kind::kPix && !IsCard(row.kind)) return false;
  return !row.is_fraud ||
         (row.fraud_role != FraudRole::kMuleHop && row.fraud_role != FraudRole::kCashOut &&
          row.fraud_role != FraudRole::kStructuring);
}

// MED recovers little, since the receiving account is mostly empty by then. Shops lose most
// chargebacks.
Decision DecisionOf(const World& world, const Row& row) {
  const Outcomes& outcomes = world.parameters().outcomes;
  Draws draws(world.keys().Of(Purpose::kSettlements, row.number, 1));
  Decision decision;
  const bool med = row.kind == Kind::kPix;
  const int64_t days = med ? draws.Between(3, 11) : draws.Between(20, 60);
  decision.decided_at = row.reported_at + days * kDay + static_cast<int64_t>(draws.Below(kDay));
  const uint64_t percent = draws.Below(100);
  if (med) {
    const uint64_t whole = outcomes.med_refunded_percent;
    if (percent < whole) {
      decision.refunded = row.amount;
    } else if (percent < whole + outcomes.med_partly_refunded_percent) {
      decision.refunded = row.amount * draws.Between(5, 70) / 100;
    }
  } else if (percent < (row.fraud_role == FraudRole::kFirstParty && row.is_fraud
                            ? outcomes.first_party_refunded_percent
                            : outcomes.chargeback_refunded_percent)) {
    decision.refunded = row.amount;
  }
  return decision;
}

Movement RefundOf(const Row& row, const Decision& decision) {
  return {.time = decision.decided_at,
          .amount = decision.refunded,
          .reference = row.number,
          .kind = EntryKind::kDisputeRefund};
}

}  // namespace reveza::fraudgen::coherent
