#include "datagen/check/graph_check.h"

#include <functional>
#include <string>
#include <string_view>

#include "datagen/random.h"

namespace reveza::datagen::check {
namespace {

uint64_t HashOf(std::string_view text) { return std::hash<std::string_view>()(text); }

// What an edge and its payment have in common.
uint64_t MarkOf(std::string_view transaction, std::string_view target, int64_t time, int64_t amount,
                bool is_fraud) {
  uint64_t mark = Mix(HashOf(transaction) + HashOf(target));
  mark = Mix(mark ^ static_cast<uint64_t>(time));
  mark = Mix(mark ^ static_cast<uint64_t>(amount));
  return mark + (is_fraud ? 1 : 0);
}

}  // namespace

void GraphCheck::Look(const Batch& batch, const Position& position) {
  const std::string_view table = batch.table().name;
  if (table == "nodes") LookAtNodes(batch, position);
  if (table == "edges") LookAtEdges(batch, position);
  if (table == "transactions") LookAtPayments(batch, position);
}

void GraphCheck::LookAtNodes(const Batch& batch, const Position& position) {
  const Field id(batch, "node_id");
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    once_.Look();
    if (nodes_.insert(HashOf(id.Text(row))).second) continue;
    once_.Bad(position, row, [&] { return std::string(id.Text(row)); });
  }
}

void GraphCheck::LookAtEdges(const Batch& batch, const Position& position) {
  const Field source(batch, "source");
  const Field target(batch, "target");
  const Field transaction(batch, "transaction_id");
  const Field time(batch, "at");
  const Field amount(batch, "amount");
  const Field is_fraud(batch, "is_fraud");
  has_edges_ = true;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    ends_.Look();
    for (const Field& end : {source, target}) {
      if (nodes_.contains(HashOf(end.Text(row)))) continue;
      ends_.Bad(position, row, [&] { return std::string(end.Text(row)); });
    }
    if (!transaction.Has(row)) continue;
    edges_ += MarkOf(transaction.Text(row), target.Text(row), time.Number(row), amount.Number(row),
                     is_fraud.Flag(row));
  }
}

void GraphCheck::LookAtPayments(const Batch& batch, const Position& position) {
  if (!has_edges_) return;
  const Field id(batch, "transaction_id");
  const Field status(batch, "status");
  const Field merchant(batch, "merchant_id");
  const Field receiver(batch, "counterparty_account");
  const Field time(batch, "timestamp");
  const Field amount(batch, "amount");
  const Field is_fraud(batch, "is_fraud");
  block_ = position.block;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!status.Is(row, "APPROVED") && !status.Is(row, "PENDING")) continue;
    if (!merchant.Has(row) && !receiver.Has(row)) continue;
    const Field& target = merchant.Has(row) ? merchant : receiver;
    payments_ += MarkOf(id.Text(row), target.Text(row), time.Number(row), amount.Number(row),
                        is_fraud.Flag(row));
  }
}

void GraphCheck::EndBlock() {
  if (has_edges_) {
    same_.Look();
    if (edges_ != payments_) same_.Bad(fmt::format("block {}: they are not", block_));
  }
  nodes_.clear();
  edges_ = payments_ = 0;
  has_edges_ = false;
}

void GraphCheck::Report(std::vector<Outcome>& outcomes) const {
  for (const Tally* tally : {&once_, &ends_, &same_}) outcomes.push_back(tally->outcome());
}

}  // namespace reveza::datagen::check
