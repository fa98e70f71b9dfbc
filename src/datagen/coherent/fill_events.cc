#include <algorithm>

#include "datagen/coherent/fill.h"
#include "datagen/coherent/fill_columns.h"

namespace reveza::datagen::coherent {
namespace {

DisputeOutcome OutcomeOf(const Decision& decision, const Row& row) {
  if (decision.refunded == 0) return DisputeOutcome::kRefused;
  return decision.refunded == row.amount ? DisputeOutcome::kRefunded
                                         : DisputeOutcome::kPartlyRefunded;
}

}  // namespace

void FillSettlements(const Identity& identity, std::span<const SettlementRow> rows, Batch& batch) {
  ColumnFiller<SettlementRow> fill(rows, batch);
  fill.Identifier("settlement_id", identity.settlements(),
                  [](const SettlementRow& row) { return row.row; });
  fill.Identifier("transaction_id", identity.transactions(),
                  [](const SettlementRow& row) { return row.row; });
  fill.Identifier("customer_id", identity.customers(),
                  [](const SettlementRow& row) { return row.customer; });
  fill.Code("outcome", [](const SettlementRow& row) { return row.outcome; });
  fill.CodeIf("reason", fill.Where([](const SettlementRow& row) {
    return row.outcome != SettlementOutcome::kSettled;
  }),
              [](const SettlementRow& row) { return row.reason; });
  fill.Number("settled_at", [](const SettlementRow& row) { return row.time; });
  fill.Number("amount", [](const SettlementRow& row) { return row.amount; });
  fill.Number("returned_amount", [](const SettlementRow& row) { return row.returned; });
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
  fill.Number("decided_at", [&](const Row& row) { return DecisionOf(keys, row).decided_at; });
  fill.Number("claimed_amount", [](const Row& row) { return row.amount; });
  fill.Number("refunded_amount", [&](const Row& row) { return DecisionOf(keys, row).refunded; });
  fill.Code("outcome", [&](const Row& row) { return OutcomeOf(DecisionOf(keys, row), row); });
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
