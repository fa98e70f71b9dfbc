#include <algorithm>

#include "datagen/coherent/fill.h"
#include "datagen/coherent/fill_columns.h"

namespace reveza::datagen::coherent {
namespace {

struct Decision {
  int64_t decided_at = 0;
  int64_t refunded = 0;
};

// MED gives little back: the account is mostly empty by then. Shops lose most chargebacks.
Decision Decide(const Keys& keys, const Row& row) {
  Draws draws(keys.Of(Purpose::kEnd, row.number, 1));
  Decision decision;
  const bool med = row.kind == Kind::kPix;
  const int64_t days = med ? draws.Between(3, 11) : draws.Between(20, 60);
  decision.decided_at = row.reported_at + days * kDay + static_cast<int64_t>(draws.Below(kDay));
  const uint64_t percent = draws.Below(100);
  if (med) {
    if (percent < 5) decision.refunded = row.amount;
    if (percent >= 5 && percent < 15) decision.refunded = row.amount * draws.Between(5, 70) / 100;
  } else if (percent < (row.fraud_role == FraudRole::kFirstParty && row.is_fraud ? 60u : 85u)) {
    decision.refunded = row.amount;
  }
  return decision;
}

DisputeOutcome OutcomeOf(const Decision& decision, const Row& row) {
  if (decision.refunded == 0) return DisputeOutcome::kRefused;
  return decision.refunded == row.amount ? DisputeOutcome::kRefunded
                                         : DisputeOutcome::kPartlyRefunded;
}

}  // namespace

bool IsDisputed(const Row& row) {
  if (row.reported_at == kNever || row.status != PaymentStatus::kApproved) return false;
  if (row.kind != Kind::kPix && !IsCard(row.kind)) return false;
  return !row.is_fraud ||
         (row.fraud_role != FraudRole::kMuleHop && row.fraud_role != FraudRole::kCashOut &&
          row.fraud_role != FraudRole::kStructuring);
}

void FillAlerts(const Identity& identity, std::span<const Row> rows, Batch& batch) {
  ColumnFiller<Row> fill(rows, batch);
  fill.Identifier("alert_id", identity.alerts(), [](const Row& row) { return row.number; });
  fill.Identifier("transaction_id", identity.transactions(),
                  [](const Row& row) { return row.number; });
  fill.Identifier("customer_id", identity.customers(), [](const Row& row) { return row.customer; });
  fill.Number("alerted_at", [](const Row& row) { return row.time; });
  fill.Code("rule", [](const Row& row) { return row.rule; });
  fill.Number("risk_score", [](const Row& row) { return row.score; });
  fill.Code("action", [](const Row& row) {
    const bool suspected =
        row.status == PaymentStatus::kDeclined && row.refusal == Refusal::kFraudSuspect;
    return row.status == PaymentStatus::kBlocked || suspected ? 1 : 0;
  });
}

void FillDisputes(const Identity& identity, const Keys& keys, std::span<const Row> rows,
                  Batch& batch) {
  ColumnFiller<Row> fill(rows, batch);
  fill.Identifier("dispute_id", identity.disputes(), [](const Row& row) { return row.number; });
  fill.Identifier("transaction_id", identity.transactions(),
                  [](const Row& row) { return row.number; });
  fill.Identifier("customer_id", identity.customers(), [](const Row& row) { return row.customer; });
  fill.Code("kind", [](const Row& row) {
    return row.kind == Kind::kPix ? DisputeKind::kMed : DisputeKind::kChargeback;
  });
  fill.Number("opened_at", [](const Row& row) { return row.reported_at; });
  fill.Number("decided_at", [&](const Row& row) { return Decide(keys, row).decided_at; });
  fill.Number("claimed_amount", [](const Row& row) { return row.amount; });
  fill.Number("refunded_amount", [&](const Row& row) { return Decide(keys, row).refunded; });
  fill.Code("outcome", [&](const Row& row) { return OutcomeOf(Decide(keys, row), row); });
}

void FillChanges(const Identity& identity, std::span<const ChangeRow> rows, Batch& batch) {
  ColumnFiller<ChangeRow> fill(rows, batch);
  fill.Number("changed_at", [](const ChangeRow& row) { return row.time; });
  fill.Identifier("customer_id", identity.customers(),
                  [](const ChangeRow& row) { return row.customer; });
  fill.Code("change", [](const ChangeRow& row) { return row.kind; });
  fill.IdentifierIf("device_id", identity.devices(),
                    fill.Where([](const ChangeRow& row) { return row.device != kNoDevice; }),
                    [](const ChangeRow& row) { return row.device; });
}

void FillRings(const Identity& identity, std::span<const RingRow> rows, Batch& batch) {
  ColumnFiller<RingRow> fill(rows, batch);
  const Presence is_chain =
      fill.Where([](const RingRow& row) { return row.pattern == RingPattern::kMuleChain; });
  fill.Identifier("ring_id", identity.rings(), [](const RingRow& row) { return row.ring; });
  fill.Code("pattern", [](const RingRow& row) { return row.pattern; });
  fill.Code("role", [](const RingRow& row) { return row.role; });
  fill.NumberIf("hop", is_chain, [](const RingRow& row) { return row.hop; });
  fill.Identifier("customer_id", identity.customers(),
                  [](const RingRow& row) { return row.customer; });
  fill.IdentifierIf("transaction_id", identity.transactions(), is_chain,
                    [](const RingRow& row) { return row.row; });
  fill.NumberIf("at", is_chain, [](const RingRow& row) { return row.time; });
}

}  // namespace reveza::datagen::coherent
