#include <array>

#include "datagen/schema_coherent.h"
#include "datagen/schema_column.h"

namespace reveza::datagen::coherent {
namespace {

constexpr auto kSettlementColumns = std::to_array<Column>({
    TextColumn("settlement_id", kNeverNull, "Identifier", "Identificador",
               "`STL_` and the digits of the transaction"),
    TextColumn("transaction_id", kNeverNull, "Which payment", "Transação",
               "one that was PENDING, or APPROVED and given back later; one row each at most"),
    TextColumn("customer_id", kNeverNull, "Who pays", "Quem paga", "of the transaction"),
    CategoryColumn("outcome", kNeverNull, kSettlementOutcomeNames, "What became of it",
                   "O que aconteceu",
                   "SETTLED or RETURNED if it was PENDING, REVERSED if it was APPROVED"),
    CategoryColumn("reason", kMayBeNull, kSettlementReasonNames, "Why it came back",
                   "Motivo da devolução", "null if SETTLED"),
    TimeColumn("settled_at", kNeverNull, "When", "Data e hora",
               "later than the payment, perhaps than the last day; on the next banking day for a "
               "BOLETO"),
    MoneyColumn("amount", kNeverNull, "Amount of the payment", "Valor da transação",
                "of the transaction"),
    MoneyColumn("returned_amount", kNeverNull, "Given back", "Valor devolvido",
                "to the account at `settled_at`, or to the credit card; 0 if SETTLED"),
});

constexpr auto kAlertColumns = std::to_array<Column>({
    TextColumn("alert_id", kNeverNull, "Identifier", "Identificador",
               "`ALERT_` and the digits of the transaction"),
    TextColumn("transaction_id", kNeverNull, "Which payment", "Transação",
               "one alert each at most"),
    TextColumn("customer_id", kNeverNull, "Who pays", "Quem paga", "of the transaction"),
    TimeColumn("alerted_at", kNeverNull, "When", "Data e hora", "at the payment"),
    CategoryColumn("rule", kNeverNull, kAlertRuleNames, "What weighed most", "Regra",
                   "the largest part of the risk score"),
    DecimalColumn("risk_score", kNeverNull, 2, "", "Risk score", "Score de risco",
                  "of the transaction"),
    CategoryColumn("action", kNeverNull, kAlertActionNames, "What was done", "Ação",
                   "BLOCK if the payment was declined or blocked for it"),
});

constexpr auto kDisputeColumns = std::to_array<Column>({
    TextColumn("dispute_id", kNeverNull, "Identifier", "Identificador",
               "`DISP_` and the digits of the transaction"),
    TextColumn("transaction_id", kNeverNull, "Which payment", "Transação",
               "an approved one; one dispute each at most"),
    TextColumn("customer_id", kNeverNull, "Who claims", "Quem contesta", "of the transaction"),
    CategoryColumn("kind", kNeverNull, kDisputeKindNames, "Kind of claim", "Tipo de contestação",
                   "MED for PIX, CHARGEBACK for cards"),
    TimeColumn("opened_at", kNeverNull, "When it was claimed", "Abertura",
               "when the payment was reported"),
    TimeColumn("decided_at", kNeverNull, "When it was decided", "Decisão",
               "3 to 11 days later (MED), 20 to 60 (chargeback)"),
    MoneyColumn("claimed_amount", kNeverNull, "Claimed", "Valor contestado", "all of the payment"),
    MoneyColumn("refunded_amount", kNeverNull, "Given back", "Valor devolvido",
                "at `decided_at`; MED: mostly nothing, for the thief's account is empty"),
    CategoryColumn("outcome", kNeverNull, kDisputeOutcomeNames, "Outcome", "Resultado",
                   "by what was given back"),
});

constexpr auto kChangeColumns = std::to_array<Column>({
    TimeColumn("changed_at", kNeverNull, "When", "Data e hora", "in order"),
    TextColumn("customer_id", kNeverNull, "Whose", "Cliente", "as in `customers`"),
    CategoryColumn("change", kNeverNull, kChangeKindNames, "What changed", "Mudança",
                   "honest ones and those that thieves make"),
    TextColumn("device_id", kMayBeNull, "Device that was added or removed", "Aparelho",
               "only for DEVICE_ADDED, DEVICE_REPLACED (the new one) and DEVICE_REMOVED"),
    TextColumn("old_value", kMayBeNull, "What was there until then", "Valor anterior",
               "`customers` and `accounts` have the first ones; null where there was none and for "
               "SIM_CHANGED"),
    TextColumn("new_value", kMayBeNull, "What is there from then on", "Valor novo",
               "address in one line, money as 1234.50, identifiers; null where there is none and "
               "for SIM_CHANGED"),
});

constexpr auto kRingColumns = std::to_array<Column>({
    TextColumn("ring_id", kNeverNull, "Identifier of chain or ring", "Identificador",
               "`RING_` and 15 digits; the rows of a chain may be in several blocks"),
    CategoryColumn("pattern", kNeverNull, kRingPatternNames, "Pattern", "Padrão",
                   "MULE_CHAIN: money moves on; SHARED_DEVICE: mules with one device"),
    CategoryColumn("role", kNeverNull, kRingRoleNames, "Part in it", "Papel", "of the customer"),
    CountColumn("hop", kMayBeNull, "", "Place in the chain", "Posição na cadeia",
                "0: the victim; null in rings"),
    TextColumn("customer_id", kNeverNull, "Who", "Quem", "as in `customers`"),
    TextColumn("transaction_id", kMayBeNull, "Which payment", "Transação", "null in rings"),
    TimeColumn("at", kMayBeNull, "When", "Data e hora", "of the payment; null in rings"),
});

}  // namespace

const Table kSettlements = {
    "settlements",
    "One row a payment that was not final at once or was given back, in order of the payments.",
    "Uma linha por transação liquidada depois ou estornada, na ordem das transações.",
    kSettlementColumns};
const Table kAlerts = {"alerts", "One row a payment that the bank looked at.",
                       "Uma linha por transação que o banco examinou.", kAlertColumns};
const Table kDisputes = {"disputes", "One row a claim after a payment, in order of the payments.",
                         "Uma linha por contestação, na ordem das transações.", kDisputeColumns};
const Table kChanges = {
    "changes", "One row a change of a customer, the account or the devices, in order of time.",
    "Uma linha por mudança do cliente, da conta ou dos aparelhos, em ordem de tempo.",
    kChangeColumns};
const Table kRings = {"rings", "Truth: who took part in a mule chain or a ring.",
                      "Verdade: quem participou de cadeia de laranjas ou quadrilha.", kRingColumns};

std::span<const Table* const> Tables() {
  static constexpr std::array<const Table*, 12> kTables = {
      &kCustomers, &kAccounts, &kDevices, &kTransactions, &kSettlements, &kAlerts,
      &kDisputes,  &kChanges,  &kRings,   &kDrivers,      &kRides,       &kRideAlerts};
  return kTables;
}

}  // namespace reveza::datagen::coherent
