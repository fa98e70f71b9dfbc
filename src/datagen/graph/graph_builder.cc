#include "datagen/graph/graph_builder.h"

#include <algorithm>
#include <utility>

namespace reveza::datagen {
namespace {

// The columns of the tables, in their order.
enum NodeColumn : std::size_t { kNodeId, kNodeKind };
enum EdgeColumn : std::size_t {
  kSource,
  kTarget,
  kEdgeKind,
  kAt,
  kTransaction,
  kAmount,
  kPaymentType,
  kIsFraud,
  kFraudRole,
  kFraudRing
};

// The digits of an identifier, of which there are at most fifteen.
uint64_t NumberOf(std::string_view id) {
  uint64_t number = 0;
  for (const char c : id) {
    if (c >= '0' && c <= '9') number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

// Texts of a column, by its name.
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

}  // namespace

GraphBuilder::GraphBuilder(BatchSink* nodes, BatchSink* edges)
    : node_sink_(nodes), edge_sink_(edges), nodes_(kNodes), edges_(kEdges) {
  nodes_.Begin(Batch::kMaxRows);
  edges_.Begin(Batch::kMaxRows);
}

Status GraphBuilder::AddAccounts(const Batch& accounts) {
  const Texts account(accounts, "account_id");
  const Texts customer(accounts, "customer_id");
  const auto& opened_at = Values(accounts, "opened_at").numbers;
  for (std::size_t row = 0; row < accounts.rows(); ++row) {
    accounts_.emplace(NumberOf(customer[row]), account[row]);
    Status status = AddNode(customer[row], NodeKind::kCustomer);
    if (status) status = AddNode(account[row], NodeKind::kAccount);
    if (status) {
      status = AddEdge({.source = customer[row],
                        .target = account[row],
                        .kind = EdgeKind::kOwns,
                        .at = opened_at[row]});
    }
    if (!status) return status;
  }
  return {};
}

Status GraphBuilder::AddDevices(const Batch& devices) {
  const Texts device(devices, "device_id");
  const Texts customer(devices, "customer_id");
  const auto& first_use = Values(devices, "first_use").numbers;
  for (std::size_t row = 0; row < devices.rows(); ++row) {
    Status status = AddNode(device[row], NodeKind::kDevice);
    if (status) {
      status = AddEdge({.source = customer[row],
                        .target = device[row],
                        .kind = EdgeKind::kUses,
                        .at = first_use[row]});
    }
    if (!status) return status;
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
    Status status = AddNode(target, pays ? NodeKind::kMerchant : NodeKind::kAccount);
    if (!status) return status;
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
    if (status = AddEdge(edge); !status) return status;
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
    if (auto added = AddEdge(edge); !added) return added;
  }
  Status status = FlushNodes();
  return status ? FlushEdges() : status;
}

Status GraphBuilder::AddNode(std::string_view id, NodeKind kind) {
  if (node_sink_ == nullptr) return {};
  const uint64_t key = NumberOf(id) * kNodeKindNames.size() + static_cast<uint64_t>(kind);
  if (!seen_.insert(key).second) return {};
  nodes_.column(kNodeId).AppendText(id);
  nodes_.column(kNodeKind).codes[node_rows_] = static_cast<uint16_t>(kind);
  return ++node_rows_ < Batch::kMaxRows ? Status{} : FlushNodes();
}

Status GraphBuilder::AddEdge(const Edge& edge) {
  if (edge_sink_ == nullptr) return {};
  const std::size_t row = edge_rows_++;
  const uint8_t payment = edge.transaction.empty() ? 0 : 1;
  edges_.column(kSource).AppendText(edge.source);
  edges_.column(kTarget).AppendText(edge.target);
  edges_.column(kEdgeKind).codes[row] = static_cast<uint16_t>(edge.kind);
  edges_.column(kAt).numbers[row] = edge.at;
  edges_.column(kTransaction).AppendText(edge.transaction);
  edges_.column(kAmount).numbers[row] = edge.amount;
  edges_.column(kPaymentType).codes[row] = edge.payment_type;
  edges_.column(kIsFraud).flags[row] = edge.is_fraud ? 1 : 0;
  for (const EdgeColumn column : {kTransaction, kAmount, kPaymentType, kIsFraud}) {
    edges_.column(column).present[row] = payment;
  }
  edges_.column(kFraudRole).codes[row] = edge.is_fraud ? edge.fraud_role : uint16_t{0};
  edges_.column(kFraudRole).present[row] = edge.is_fraud ? 1 : 0;
  edges_.column(kFraudRing).AppendText(edge.fraud_ring);
  edges_.column(kFraudRing).present[row] = edge.fraud_ring.empty() ? 0 : 1;
  return edge_rows_ < Batch::kMaxRows ? Status{} : FlushEdges();
}

Status GraphBuilder::FlushNodes() {
  if (node_rows_ == 0) return {};
  nodes_.Shorten(std::exchange(node_rows_, 0));
  Status put = node_sink_->Put(nodes_);
  nodes_.Begin(Batch::kMaxRows);
  return put;
}

Status GraphBuilder::FlushEdges() {
  if (edge_rows_ == 0) return {};
  edges_.Shorten(std::exchange(edge_rows_, 0));
  Status put = edge_sink_->Put(edges_);
  edges_.Begin(Batch::kMaxRows);
  return put;
}

}  // namespace reveza::datagen
