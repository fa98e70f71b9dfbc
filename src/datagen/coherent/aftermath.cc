#include "datagen/coherent/aftermath.h"

#include "datagen/civil_time.h"

namespace reveza::datagen::coherent {
namespace {

// A boleto clears on the next banking day.
int64_t NextBankingDay(int64_t time) {
  int64_t day = time / kDay + 1;
  while (WeekdayOf(day) >= Weekday::kSaturday) ++day;
  return day;
}

void SettleLater(const Outcomes& outcomes, const Row& row, bool inside, Draws& draws,
                 SettlementRow& settlement) {
  const bool boleto = row.kind == Kind::kBoleto;
  settlement.time = boleto ? NextBankingDay(row.time) * kDay + draws.Between(6 * kHour, 18 * kHour)
                           : row.time + draws.Between(20 * kMinute, 240 * kMinute);
  if (inside || !draws.Chance(outcomes.returned)) return;
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
    // Some of what was bought is kept.
    if (row.amount >= 1'000 && draws.Chance(250'000)) {
      settlement.returned = row.amount * draws.Between(10, 90) / 100;
    }
  }
}

}  // namespace

std::optional<SettlementRow> SettlementOf(const Outcomes& outcomes, const Row& row, bool inside,
                                          Draws& draws) {
  SettlementRow settlement = {.row = row.number, .customer = row.customer, .amount = row.amount};
  if (row.status == PaymentStatus::kPending) {
    SettleLater(outcomes, row, inside, draws, settlement);
    return settlement;
  }
  // What is claimed back is not given back as well.
  if (row.status != PaymentStatus::kApproved || row.reported_at != kNever || inside) return {};
  if (!draws.Chance(ReversalChance(outcomes, row))) return {};
  Reverse(row, draws, settlement);
  return settlement;
}

bool IsDisputed(const Row& row) {
  if (row.reported_at == kNever || row.status != PaymentStatus::kApproved) return false;
  if (row.kind != Kind::kPix && !IsCard(row.kind)) return false;
  return !row.is_fraud ||
         (row.fraud_role != FraudRole::kMuleHop && row.fraud_role != FraudRole::kCashOut &&
          row.fraud_role != FraudRole::kStructuring);
}

// MED gives little back: the account is mostly empty by then. Shops lose most chargebacks.
Decision DecisionOf(const World& world, const Row& row) {
  const Outcomes& outcomes = world.parameters().outcomes;
  Draws draws(world.keys().Of(Purpose::kAftermath, row.number, 1));
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

}  // namespace reveza::datagen::coherent
