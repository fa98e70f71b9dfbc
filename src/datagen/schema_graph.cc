#include "datagen/schema_graph.h"

#include "datagen/schema_coherent.h"
#include "datagen/schema_column.h"

namespace reveza::datagen {
namespace {

constexpr auto kNodeColumns = std::to_array<Column>({
    TextColumn("node_id", kNeverNull, "Identifier", "Identificador",
               "the `customer_id`, `account_id`, `device_id` or `merchant_id`"),
    CategoryColumn("kind", kNeverNull, kNodeKindNames, "What it is", "Tipo",
                   "accounts are those of the customers and all that they send money to"),
});

constexpr auto kEdgeColumns = std::to_array<Column>({
    TextColumn("source", kNeverNull, "From which node", "Nó de origem", "a `node_id`"),
    TextColumn("target", kNeverNull, "To which node", "Nó de destino", "a `node_id`"),
    CategoryColumn(
        "kind", kNeverNull, kEdgeKindNames, "What joins them", "Tipo",
        "OWNS: customer and account; USES: customer and device; SENDS: money from account "
        "to account; PAYS: from account to merchant"),
    TimeColumn("at", kNeverNull, "When", "Data e hora",
               "of the payment; since when an account is open or a device in use"),
    TextColumn("transaction_id", kMayBeNull, "Which payment", "Transação",
               "only of SENDS and PAYS; those that are approved or pending"),
    MoneyColumn("amount", kMayBeNull, "Amount", "Valor", "of the payment"),
    CategoryColumn("payment_type", kMayBeNull, coherent::kKindNames, "Kind of payment",
                   "Tipo da transação", "of the payment"),
    FlagColumn("is_fraud", kMayBeNull, "Label: whether it is fraud", "Rótulo: é fraude",
               "of the payment"),
    CategoryColumn("fraud_role", kMayBeNull, coherent::kFraudRoleNames, "Label: part in the fraud",
                   "Rótulo: papel na fraude", "of the payment"),
    TextColumn("fraud_ring", kMayBeNull, "Label: mule chain", "Rótulo: cadeia de laranjas",
               "the `ring_id` of the payment in `rings`"),
});

}  // namespace

const Table kNodes = {
    "nodes", "With `--graph`: one row a customer, account, device or merchant in each block.",
    "Com `--graph`: uma linha por cliente, conta, aparelho ou loja em cada bloco.", kNodeColumns};
const Table kEdges = {"edges", "With `--graph`: one row for what joins two nodes.",
                      "Com `--graph`: uma linha por ligação entre dois nós.", kEdgeColumns};

std::span<const Table* const> GraphTables() {
  static constexpr std::array<const Table*, 2> kTables = {&kNodes, &kEdges};
  return kTables;
}

}  // namespace reveza::datagen
