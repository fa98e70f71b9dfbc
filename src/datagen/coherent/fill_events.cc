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
  fill.Text("alert_id", [&](std::string& text, const Row& row) {
    identity.AppendOfTransaction(text, "ALERT_", row.number);
  });
  fill.Text("transaction_id", [&](std::string& text, const Row& row) {
    identity.AppendTransaction(text, row.number);
  });
  fill.Text("customer_id", [&](std::string& text, const Row& row) {
    identity.AppendCustomer(text, row.customer);
  });
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
  fill.Text("dispute_id", [&](std::string& text, const Row& row) {
    identity.AppendOfTransaction(text, "DISP_", row.number);
  });
  fill.Text("transaction_id", [&](std::string& text, const Row& row) {
    identity.AppendTransaction(text, row.number);
  });
  fill.Text("customer_id", [&](std::string& text, const Row& row) {
    identity.AppendCustomer(text, row.customer);
  });
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
  fill.Text("customer_id", [&](std::string& text, const ChangeRow& row) {
    identity.AppendCustomer(text, row.customer);
  });
  fill.Code("change", [](const ChangeRow& row) { return row.kind; });
  fill.TextIf(
      "device_id", [](const ChangeRow& row) { return row.device != kNoDevice; },
      [&](std::string& text, const ChangeRow& row) { identity.AppendDevice(text, row.device); });
}

void FillRings(const Identity& identity, std::span<const RingRow> rows, Batch& batch) {
  ColumnFiller<RingRow> fill(rows, batch);
  const auto is_chain = [](const RingRow& row) { return row.pattern == RingPattern::kMuleChain; };
  fill.Text("ring_id",
            [&](std::string& text, const RingRow& row) { identity.AppendRing(text, row.ring); });
  fill.Code("pattern", [](const RingRow& row) { return row.pattern; });
  fill.Code("role", [](const RingRow& row) { return row.role; });
  fill.NumberIf("hop", is_chain, [](const RingRow& row) { return row.hop; });
  fill.Text("customer_id", [&](std::string& text, const RingRow& row) {
    identity.AppendCustomer(text, row.customer);
  });
  fill.TextIf("transaction_id", is_chain, [&](std::string& text, const RingRow& row) {
    identity.AppendTransaction(text, row.row);
  });
  fill.NumberIf("at", is_chain, [](const RingRow& row) { return row.time; });
}

}  // namespace reveza::datagen::coherent
