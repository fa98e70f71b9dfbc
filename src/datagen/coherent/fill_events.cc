#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "datagen/coherent/fill.h"
#include "datagen/coherent/fill_columns.h"
#include "datagen/fixed_text.h"
#include "datagen/text_format.h"

namespace reveza::datagen::coherent {
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

char* PutBytes(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// Cents as reais.
char* PutMoney(char* out, int64_t cents) {
  std::string text;
  AppendInteger(text, cents / 100);
  out = PutBytes(out, text);
  *out++ = '.';
  return PutLastDigits(out, static_cast<uint64_t>(cents % 100), 2);
}

enum class Side : uint8_t { kBefore, kAfter };

// What was there before the change, or is there after it.
char* PutValue(char* out, const Identity& identity, const World& world, const ChangeRow& row,
               Side side) {
  const bool after = side == Side::kAfter;
  const int64_t number = after ? row.after : row.before;
  const Person person = world.PersonOf(row.customer);
  const Owner owner = identity.OwnerOf(person, after ? row.time : row.time - 1);
  switch (row.kind) {
    case ChangeKind::kAddressChanged:
      return PutBytes(out, identity.AddressOf(person, static_cast<uint32_t>(number)));
    case ChangeKind::kPhoneChanged:
      return identity.PutPhone(out, owner);
    case ChangeKind::kEmailChanged:
      return identity.PutEmail(out, owner);
    case ChangeKind::kIncomeChanged:
    case ChangeKind::kLimitChanged:
      return PutMoney(out, number);
    case ChangeKind::kPixKeyAdded:
    case ChangeKind::kPixKeyRemoved:
      return identity.PutPixKey(out, owner);
    case ChangeKind::kAccountOpened:
    case ChangeKind::kAccountClosed:
      return identity.accounts().Put(out, row.customer);
    case ChangeKind::kDeviceAdded:
    case ChangeKind::kDeviceReplaced:
    case ChangeKind::kDeviceRemoved:
      return identity.devices().Put(out, after ? row.device : row.old_device);
    case ChangeKind::kSimChanged:
      break;
  }
  return out;
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

void FillDisputes(const Identity& identity, const World& world, std::span<const Row> rows,
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
  fill.Number("decided_at", [&](const Row& row) { return DecisionOf(world, row).decided_at; });
  fill.Number("claimed_amount", [](const Row& row) { return row.amount; });
  fill.Number("refunded_amount", [&](const Row& row) { return DecisionOf(world, row).refunded; });
  fill.Code("outcome", [&](const Row& row) { return OutcomeOf(DecisionOf(world, row), row); });
}

void FillChanges(const Identity& identity, const World& world, std::span<const ChangeRow> rows,
                 Batch& batch) {
  ColumnFiller<ChangeRow> fill(rows, batch);
  fill.Number("changed_at", [](const ChangeRow& row) { return row.time; });
  fill.Identifier("customer_id", identity.customers(),
                  [](const ChangeRow& row) { return row.customer; });
  fill.Code("change", [](const ChangeRow& row) { return row.kind; });
  fill.IdentifierIf("device_id", identity.devices(),
                    fill.Where([](const ChangeRow& row) { return AnyDevice(row) != kNoDevice; }),
                    AnyDevice);
  fill.TextIf("old_value", fill.Where(HadValue), [&](char* out, const ChangeRow& row) {
    return PutValue(out, identity, world, row, Side::kBefore);
  });
  fill.TextIf("new_value", fill.Where(HasValue), [&](char* out, const ChangeRow& row) {
    return PutValue(out, identity, world, row, Side::kAfter);
  });
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
