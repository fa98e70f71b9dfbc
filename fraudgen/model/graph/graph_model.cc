#include "fraudgen/model/graph/graph_model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fraudgen/model/model.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema_derived.h"

namespace reveza::fraudgen {
namespace {

// Returns the number formed by the digits of an identifier, at most fifteen.
uint64_t NumberOf(std::string_view id) {
  uint64_t number = 0;
  for (const char c : id) {
    if (c >= '0' && c <= '9') number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

// The texts of a column.
class Texts {
 public:
  Texts(const Batch& batch, std::string_view name)
      : batch_(&batch), index_(batch.IndexOf(name)), values_(&batch.column(index_)) {}

  bool Has(std::size_t row) const { return !batch_->IsNull(index_, row); }
  std::string_view operator[](std::size_t row) const { return values_->TextAt(row); }

 private:
  const Batch* batch_;
  std::size_t index_;
  const ColumnValues* values_;
};

const ColumnValues& Values(const Batch& batch, std::string_view name) {
  return batch.column(batch.IndexOf(name));
}

uint16_t CodeOf(const Batch& batch, std::string_view name, std::string_view value) {
  const auto& values = batch.table().columns[batch.IndexOf(name)].values;
  return static_cast<uint16_t>(std::ranges::find(values, value) - values.begin());
}

// Builds the nodes and edges of one block from its rows. Not thread-safe.
class GraphBuilder {
 public:
  // A null sink discards its rows.
  GraphBuilder(BatchSink* nodes, BatchSink* edges) : nodes_(kNodes, nodes), edges_(kEdges, edges) {}

  // Adds all accounts of the block; must precede all other rows.
  Status AddAccounts(const Batch& accounts);
  Status AddDevices(const Batch& devices);
  Status AddTransactions(const Batch& transactions);
  void AddRings(const Batch& rings);
  // Writes the edges of frauds, whose chains are now known, and flushes.
  Status End();

 private:
  struct Edge {
    std::string_view source;
    std::string_view target;
    EdgeKind kind = EdgeKind::kOwns;
    int64_t at = 0;
    std::string_view transaction = {};  // empty if not a payment; the members below are then null
    int64_t amount = 0;
    uint16_t payment_type = 0;
    bool is_fraud = false;
    uint16_t fraud_role = 0;
    std::string_view fraud_ring = {};
  };
  // A deferred edge, owning its texts.
  struct FraudEdge {
    std::string source;
    std::string target;
    std::string transaction;
    Edge rest;
  };

  Status AddNode(std::string_view id, NodeKind kind);
  Status AddEdge(const Edge& edge);

  BatchBuffer nodes_;
  BatchBuffer edges_;
  std::unordered_set<uint64_t> seen_;                   // nodes, by kind and number
  std::unordered_map<uint64_t, std::string> accounts_;  // of customers, by their number
  std::unordered_map<uint64_t, std::string> rings_;     // of payments, by their number
  std::vector<FraudEdge> frauds_;
};

Status GraphBuilder::AddAccounts(const Batch& accounts) {
  const Texts account(accounts, "account_id");
  const Texts customer(accounts, "customer_id");
  const auto& opened_at = Values(accounts, "opened_at").numbers;
  for (std::size_t row = 0; row < accounts.rows(); ++row) {
    accounts_.emplace(NumberOf(customer[row]), account[row]);
    RETURN_IF_ERROR(AddNode(customer[row], NodeKind::kCustomer));
    RETURN_IF_ERROR(AddNode(account[row], NodeKind::kAccount));
    RETURN_IF_ERROR(AddEdge({.source = customer[row],
                             .target = account[row],
                             .kind = EdgeKind::kOwns,
                             .at = opened_at[row]}));
  }
  return {};
}

Status GraphBuilder::AddDevices(const Batch& devices) {
  const Texts device(devices, "device_id");
  const Texts customer(devices, "customer_id");
  const auto& first_use = Values(devices, "first_use").numbers;
  for (std::size_t row = 0; row < devices.rows(); ++row) {
    RETURN_IF_ERROR(AddNode(device[row], NodeKind::kDevice));
    RETURN_IF_ERROR(AddEdge({.source = customer[row],
                             .target = device[row],
                             .kind = EdgeKind::kUses,
                             .at = first_use[row]}));
  }
  return {};
}

Status GraphBuilder::AddTransactions(const Batch& transactions) {
  const Texts id(transactions, "transaction_id");
  const Texts customer(transactions, "customer_id");
  const Texts merchant(transactions, "merchant_id");
  const Texts receiver(transactions, "counterparty_account");
  const auto& time = Values(transactions, "timestamp").numbers;
  const auto& amount = Values(transactions, "amount").numbers;
  const auto& type = Values(transactions, "type").codes;
  const auto& status_codes = Values(transactions, "status").codes;
  const auto& is_fraud = Values(transactions, "is_fraud").flags;
  const auto& role = Values(transactions, "fraud_role").codes;
  const uint16_t approved = CodeOf(transactions, "status", "APPROVED");
  const uint16_t pending = CodeOf(transactions, "status", "PENDING");
  for (std::size_t row = 0; row < transactions.rows(); ++row) {
    if (status_codes[row] != approved && status_codes[row] != pending) continue;
    const bool pays = merchant.Has(row);
    if (!pays && !receiver.Has(row)) continue;
    const std::string_view target = pays ? merchant[row] : receiver[row];
    RETURN_IF_ERROR(AddNode(target, pays ? NodeKind::kMerchant : NodeKind::kAccount));
    const Edge edge = {.source = accounts_[NumberOf(customer[row])],
                       .target = target,
                       .kind = pays ? EdgeKind::kPays : EdgeKind::kSends,
                       .at = time[row],
                       .transaction = id[row],
                       .amount = amount[row],
                       .payment_type = type[row],
                       .is_fraud = is_fraud[row] != 0,
                       .fraud_role = role[row]};
    if (edge.is_fraud) {
      frauds_.push_back({.source = std::string(edge.source),
                         .target = std::string(edge.target),
                         .transaction = std::string(edge.transaction),
                         .rest = edge});
      continue;
    }
    RETURN_IF_ERROR(AddEdge(edge));
  }
  return {};
}

void GraphBuilder::AddRings(const Batch& rings) {
  const Texts ring(rings, "ring_id");
  const Texts transaction(rings, "transaction_id");
  for (std::size_t row = 0; row < rings.rows(); ++row) {
    if (transaction.Has(row)) rings_.emplace(NumberOf(transaction[row]), ring[row]);
  }
}

Status GraphBuilder::End() {
  for (const FraudEdge& fraud : frauds_) {
    Edge edge = fraud.rest;
    edge.source = fraud.source;
    edge.target = fraud.target;
    edge.transaction = fraud.transaction;
    if (const auto ring = rings_.find(NumberOf(fraud.transaction)); ring != rings_.end()) {
      edge.fraud_ring = ring->second;
    }
    RETURN_IF_ERROR(AddEdge(edge));
  }
  RETURN_IF_ERROR(nodes_.Flush());
  return edges_.Flush();
}

Status GraphBuilder::AddNode(std::string_view id, NodeKind kind) {
  if (!nodes_.HasSink()) return {};
  const uint64_t key = NumberOf(id) * kNodeKindNames.size() + static_cast<uint64_t>(kind);
  if (!seen_.insert(key).second) return {};
  nodes_.batch().column(NodesColumn::kNodeId).AppendText(id);
  nodes_.batch().column(NodesColumn::kKind).codes[nodes_.rows()] = static_cast<uint16_t>(kind);
  return nodes_.Add();
}

Status GraphBuilder::AddEdge(const Edge& edge) {
  using enum EdgesColumn;
  if (!edges_.HasSink()) return {};
  const std::size_t row = edges_.rows();
  const auto column = [&](EdgesColumn index) -> ColumnValues& {
    return edges_.batch().column(index);
  };
  const uint8_t payment = edge.transaction.empty() ? 0 : 1;
  column(kSource).AppendText(edge.source);
  column(kTarget).AppendText(edge.target);
  column(kKind).codes[row] = static_cast<uint16_t>(edge.kind);
  column(kAt).numbers[row] = edge.at;
  column(kTransactionId).AppendText(edge.transaction);
  column(kAmount).numbers[row] = edge.amount;
  column(kPaymentType).codes[row] = edge.payment_type;
  column(kIsFraud).flags[row] = edge.is_fraud ? 1 : 0;
  for (const EdgesColumn of_payment : {kTransactionId, kAmount, kPaymentType, kIsFraud}) {
    column(of_payment).present[row] = payment;
  }
  column(kFraudRole).codes[row] = edge.is_fraud ? edge.fraud_role : uint16_t{0};
  column(kFraudRole).present[row] = edge.is_fraud ? 1 : 0;
  column(kFraudRing).AppendText(edge.fraud_ring);
  column(kFraudRing).present[row] = edge.fraud_ring.empty() ? 0 : 1;
  return edges_.Add();
}

}  // namespace

GraphModel::GraphModel(std::unique_ptr<Model> rows)
    : rows_(std::move(rows)), tables_(rows_->tables().begin(), rows_->tables().end()) {
  tables_.insert(tables_.end(), GraphTables().begin(), GraphTables().end());
}

uint64_t GraphModel::RowsOf(const Table& table, uint64_t block) const {
  return IsIn(GraphTables(), table) ? 0 : rows_->RowsOf(table, block);
}

// A node may be in several blocks, and is unique within each.
bool GraphModel::IsSmall(const Table& table) const {
  return !IsIn(GraphTables(), table) && rows_->IsSmall(table);
}

Status GraphModel::Make(uint64_t block, std::span<const Table* const> wanted,
                        BatchSink& sink) const {
  constexpr std::array<std::string_view, 3> kNeeded = {"devices", "transactions", "rings"};
  const bool nodes = IsIn(wanted, kNodes);
  const bool edges = IsIn(wanted, kEdges);
  if (!nodes && !edges) return rows_->Make(block, wanted, sink);
  GraphBuilder builder(nodes ? &sink : nullptr, edges ? &sink : nullptr);
  // Accounts must be known at the first payment; generating them needs no simulation.
  std::vector<const Table*> now;
  for (const Table* table : rows_->tables()) {
    if (table->name == "accounts") now.push_back(table);
  }
  FunctionSink accounts([&](const Batch& batch) { return builder.AddAccounts(batch); });
  RETURN_IF_ERROR(rows_->Make(block, now, accounts));
  now.clear();
  for (const Table* table : rows_->tables()) {
    if (IsIn(wanted, *table) || std::ranges::find(kNeeded, table->name) != kNeeded.end())
      now.push_back(table);
  }
  FunctionSink rows([&](const Batch& batch) -> Status {
    const std::string_view name = batch.table().name;
    Status added;
    if (name == "devices") added = builder.AddDevices(batch);
    if (name == "transactions") added = builder.AddTransactions(batch);
    if (name == "rings") builder.AddRings(batch);
    return added && IsIn(wanted, batch.table()) ? sink.Put(batch) : added;
  });
  RETURN_IF_ERROR(rows_->Make(block, now, rows));
  return builder.End();
}

}  // namespace reveza::fraudgen
