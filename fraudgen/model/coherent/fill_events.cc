#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "fraudgen/model/coherent/fill_columns.h"
#include "fraudgen/model/coherent/labels.h"
#include "fraudgen/model/coherent/tables.h"
#include "fraudgen/schema/fixed_text.h"

namespace reveza::fraudgen::coherent {
namespace {

DisputeOutcome OutcomeOf(const Decision& decision, const Row& row) {
  if (decision.refunded == 0) return DisputeOutcome::kRefused;
  return decision.refunded == row.amount ? DisputeOutcome::kRefunded
                                         : DisputeOutcome::kPartlyRefunded;
}

DeviceNumber AnyDevice(const ChangeRow& row) {
  return row.device != kNoDevice ? row.device : row.old_device;
}

bool HadValue(const ChangeRow& row) {
  return row.kind != ChangeKind::kAccountOpened && row.kind != ChangeKind::kSimChanged &&
         row.kind != ChangeKind::kPixKeyAdded && row.kind != ChangeKind::kDeviceAdded;
}
bool HasValue(const ChangeRow& row) {
  return row.kind != ChangeKind::kAccountClosed && row.kind != ChangeKind::kSimChanged &&
         row.kind != ChangeKind::kPixKeyRemoved && row.kind != ChangeKind::kDeviceRemoved;
}

enum class Side : uint8_t { kBefore, kAfter };

// Returns whether an entry gives back what a payment of the owner took.
bool Undoes(EntryKind kind) {
  return kind == EntryKind::kPaymentReturned || kind == EntryKind::kPaymentReversed ||
         kind == EntryKind::kDisputeRefund;
}

// Writes the value before or after a change.
char* PutValue(char* out, const Identity& identity, const ChangeRow& row, Side side) {
  const bool after = side == Side::kAfter;
  const int64_t number = after ? row.after : row.before;
  const Person person = identity.world().PersonOf(row.customer);
  const Owner owner = identity.OwnerOf(person, after ? row.time : row.time - 1);
  switch (row.kind) {
    case ChangeKind::kAddressChanged:
      return PutText(out, identity.AddressOf(person, static_cast<uint32_t>(number)));
    case ChangeKind::kPhoneChanged:
      return identity.PutPhone(out, owner);
    case ChangeKind::kEmailChanged:
      return identity.PutEmail(out, owner);
    case ChangeKind::kIncomeChanged:
    case ChangeKind::kLimitChanged:
      return PutDecimal<2>(out, number);
    case ChangeKind::kPixKeyAdded:
    case ChangeKind::kPixKeyRemoved:
      return identity.PutPixKey(out, owner);
    case ChangeKind::kAccountOpened:
    case ChangeKind::kAccountClosed:
      return identity.accounts.Put(out, row.customer);
    case ChangeKind::kDeviceAdded:
    case ChangeKind::kDeviceReplaced:
    case ChangeKind::kDeviceRemoved:
      return identity.devices.Put(out, after ? row.device : row.old_device);
    case ChangeKind::kSimChanged:
      break;
  }
  return out;
}

}  // namespace

void FillSettlements(const Identity& identity, std::span<const SettlementRow> rows, Batch& batch) {
  ColumnFiller<SettlementRow> fill(rows, batch);
  fill.Identifier("settlement_id", identity.settlements, &SettlementRow::row);
  fill.Identifier("transaction_id", identity.transactions, &SettlementRow::row);
  fill.Identifier("customer_id", identity.customers, &SettlementRow::customer);
  fill.Code("outcome", &SettlementRow::outcome);
  fill.CodeIf("reason", fill.Where([](const SettlementRow& row) {
    return row.outcome != SettlementOutcome::kSettled;
  }),
              &SettlementRow::reason);
  fill.Number("settled_at", &SettlementRow::time);
  fill.Number("amount", &SettlementRow::amount);
  fill.Number("returned_amount", &SettlementRow::returned);
}

void FillAlerts(const Identity& identity, std::span<const Row> rows, Batch& batch) {
  ColumnFiller<Row> fill(rows, batch);
  fill.Identifier("alert_id", identity.alerts, &Row::number);
  fill.Identifier("transaction_id", identity.transactions, &Row::number);
  fill.Identifier("customer_id", identity.customers, &Row::customer);
  fill.Number("alerted_at", &Row::time);
  fill.Code("rule", &Row::rule);
  fill.Number("risk_score", &Row::score);
  fill.Code("action", IsStopped);
  const Presence is_reviewed = fill.Where([](const Row& row) { return row.reviewed_at != kNever; });
  fill.NumberIf("reviewed_at", is_reviewed, &Row::reviewed_at);
  fill.CodeIf("decision", is_reviewed, &Row::decision);
}

void FillDisputes(const Identity& identity, std::span<const Row> rows, Batch& batch) {
  const World& world = identity.world();
  const Labels labels(world);
  ColumnFiller<Row> fill(rows, batch);
  const Presence is_decided =
      fill.Where([&](const Row& row) { return labels.Knows(DecisionOf(world, row).decided_at); });
  fill.Identifier("dispute_id", identity.disputes, &Row::number);
  fill.Identifier("transaction_id", identity.transactions, &Row::number);
  fill.Identifier("customer_id", identity.customers, &Row::customer);
  fill.Code("kind", [](const Row& row) {
    return row.kind == Kind::kPix ? DisputeKind::kMed : DisputeKind::kChargeback;
  });
  fill.Number("opened_at", &Row::reported_at);
  fill.NumberIf("decided_at", is_decided,
                [&](const Row& row) { return DecisionOf(world, row).decided_at; });
  fill.Number("claimed_amount", &Row::amount);
  fill.NumberIf("refunded_amount", is_decided,
                [&](const Row& row) { return DecisionOf(world, row).refunded; });
  fill.CodeIf("outcome", is_decided,
              [&](const Row& row) { return OutcomeOf(DecisionOf(world, row), row); });
}

void FillChanges(const Identity& identity, std::span<const ChangeRow> rows, Batch& batch) {
  ColumnFiller<ChangeRow> fill(rows, batch);
  fill.Number("changed_at", &ChangeRow::time);
  fill.Identifier("customer_id", identity.customers, &ChangeRow::customer);
  fill.Code("change", &ChangeRow::kind);
  fill.IdentifierIf("device_id", identity.devices,
                    fill.Where([](const ChangeRow& row) { return AnyDevice(row) != kNoDevice; }),
                    AnyDevice);
  fill.TextIf("old_value", fill.Where(HadValue), [&](char* out, const ChangeRow& row) {
    return PutValue(out, identity, row, Side::kBefore);
  });
  fill.TextIf("new_value", fill.Where(HasValue), [&](char* out, const ChangeRow& row) {
    return PutValue(out, identity, row, Side::kAfter);
  });
}

void FillEntries(const Identity& identity, std::span<const EntryRow> rows, Batch& batch) {
  ColumnFiller<EntryRow> fill(rows, batch);
  const Presence is_received = fill.Where([](const EntryRow& row) { return IsReceived(row.kind); });
  const Presence undoes = fill.Where([](const EntryRow& row) { return Undoes(row.kind); });
  fill.Identifier("entry_id", identity.entries, &EntryRow::number);
  fill.Identifier("account_id", identity.accounts, &EntryRow::customer);
  fill.Identifier("customer_id", identity.customers, &EntryRow::customer);
  fill.Number("posted_at", &EntryRow::time);
  fill.Code("kind", &EntryRow::kind);
  fill.Number("amount", &EntryRow::amount);
  fill.Number("balance_after", &EntryRow::balance);
  fill.IdentifierIf("transaction_id", identity.transactions, undoes, &EntryRow::reference);
  fill.IdentifierIf("counterparty_account", identity.accounts, is_received, &EntryRow::reference);
  fill.CodeIf("counterparty_bank", is_received, [&](const EntryRow& row) {
    return IsReceived(row.kind) ? identity.world().BriefPersonOf(row.reference).bank : 0;
  });
}

void FillRings(const Identity& identity, std::span<const RingRow> rows, Batch& batch) {
  ColumnFiller<RingRow> fill(rows, batch);
  const Presence is_chain =
      fill.Where([](const RingRow& row) { return row.pattern != RingPattern::kSharedDevice; });
  fill.Identifier("ring_id", identity.rings, &RingRow::ring);
  fill.Code("pattern", &RingRow::pattern);
  fill.Code("role", &RingRow::role);
  fill.NumberIf("hop", is_chain, &RingRow::hop);
  fill.Identifier("customer_id", identity.customers, &RingRow::customer);
  fill.IdentifierIf("transaction_id", identity.transactions, is_chain, &RingRow::row);
  fill.NumberIf("at", is_chain, &RingRow::time);
}

}  // namespace reveza::fraudgen::coherent
